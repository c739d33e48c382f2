"""The judge's token streams: what the kit's `evaluate_bpb` scores, read by the kit's own functions (see reader.py)."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO

import numpy as np
import torch

from scorer.contest import EvaluationSettings
from scorer.room.cleanroom import Room, RoomProcess
from scorer.trusted.settings import per_rank

READER = Path(__file__).with_name("reader.py")

Key = tuple[str, int, int]  # split, rank, world size


class StreamError(RuntimeError):
    """The kit gave no tokens; the message holds its last words."""


class Streams:
    """Streams of all settings that will be measured; reading starts at once, `wait` must come before any use."""

    def __init__(
        self,
        room: Room,
        environment: Mapping[str, str],
        settings: Iterable[EvaluationSettings],
        purity: tuple[str, int],
    ) -> None:
        counts: dict[Key, int] = {}
        for one in settings:
            for rank in range(one.world_size):
                key = (one.split, rank, one.world_size)
                counts[key] = max(counts.get(key, 0), per_rank(one))
        self._purity: Key = (purity[0], 0, 1)
        counts[self._purity] = max(counts.get(self._purity, 0), purity[1])
        self._index = {key: index for index, key in enumerate(counts)}
        self._out = room.control / "streams"
        self._out.mkdir()
        self._errors: IO[bytes] = (room.control / "reader.err").open("w+b")
        wanted = [
            {"split": split, "rank": rank, "world_size": world, "count": count}
            for (split, rank, world), count in counts.items()
        ]
        self._process: RoomProcess = room.popen(
            [sys.executable, str(READER), json.dumps({"out": str(self._out), "streams": wanted})],
            environment,
            stdout=subprocess.DEVNULL,
            stderr=self._errors,
        )
        self.vocabulary = self.text_bytes = self.table_bytes = 0
        self.token_bytes = torch.empty(0, dtype=torch.int64)

    def wait(self, deadline: float) -> None:
        """Wait until time.monotonic() is `deadline` at the latest. Raises StreamError."""
        try:
            code = self._process.wait(max(0.0, deadline - time.monotonic()))
        except TimeoutError:
            raise StreamError("the kit's tokens were not read in time") from None
        if code != 0:
            words = Path(self._errors.name).read_text("utf-8", "replace").strip().splitlines()
            raise StreamError(f"the kit's tokens cannot be read: {words[-1] if words else f'exit code {code}'}")
        facts = json.loads((self._out / "kit.json").read_text("utf-8"))
        self.vocabulary = facts["vocabulary"]
        self.text_bytes, self.table_bytes = facts["text_bytes"], facts["table_bytes"]
        self.token_bytes = torch.from_numpy(np.load(self._out / "token_bytes.npy"))

    def stream(self, split: str, rank: int, world_size: int, count: int) -> torch.Tensor:
        """The first `count` + 1 tokens of one rank's stream, int32."""
        path = self._out / f"stream-{self._index[split, rank, world_size]}.npy"
        return torch.from_numpy(np.load(path)[: count + 1])

    def purity_rows(self, count: int, seq_len: int) -> torch.Tensor:
        """The first `count` rows of the public split, int32 [count, seq_len]."""
        split, rank, world_size = self._purity
        stream = self.stream(split, rank, world_size, count * seq_len)
        return stream[: count * seq_len].view(count, seq_len)

    def close(self) -> None:
        """Close the log; the room removes the files."""
        self._errors.close()
