"""The judge's token streams: what the kit's `evaluate_bpb` scores, read by the kit's own functions (see kit_host)."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from scorer.contest import EvaluationSettings, KitRules
from scorer.trusted.kit_process import KitProcess, KitProcessError
from scorer.trusted.settings import per_rank

Key = tuple[str, int, int]  # split, rank, world size


class StreamError(RuntimeError):
    """The kit gave no tokens; the message holds its own words."""


class Streams:
    """Streams of all settings that will be measured; reading starts at once, `wait` must come before any use.

    `out` is a new directory for them. `facts` is what the kit's process found (see kit_host.reading).
    """

    def __init__(
        self,
        kit: KitProcess,
        out: Path,
        rules: KitRules,
        settings: Iterable[EvaluationSettings],
        purity: tuple[str, int],
    ) -> None:
        counts: dict[Key, int] = {}
        for one in settings:
            for rank in range(one.world_size):
                key = (one.split, rank, one.world_size)
                counts[key] = max(counts.get(key, 0), per_rank(one))
        self._purity: Key = (purity[0], 0, 1)
        self._purity_count = purity[1]
        counts[self._purity] = max(counts.get(self._purity, 0), purity[1])
        self._index = {key: index for index, key in enumerate(counts)}
        self._kit, self._out, self._rules = kit, out, rules
        self._out.mkdir()
        wanted = [
            {"split": split, "rank": rank, "world_size": world, "count": count}
            for (split, rank, world), count in counts.items()
        ]
        kit.start("read", out=str(out), streams=wanted, constants=list(rules.constants))
        self.vocabulary = 0
        self.facts: dict[str, Any] = {}
        self.token_bytes = torch.empty(0, dtype=torch.int64)

    def wait(self, seconds: float) -> None:
        """Wait at most `seconds` for the kit. Raises StreamError, also for a kit that is not the profile's."""
        try:
            self.facts = self._kit.finish(seconds)
        except KitProcessError as error:
            raise StreamError(f"the kit's tokens cannot be read: {error}") from error
        for what, found, expected in (
            ("a vocabulary of", self.facts["vocabulary"], self._rules.vocab_size),
            ("the BOS token", self.facts["bos"], self._rules.bos_token_id),
            *((name, value, self._rules.constants[name]) for name, value in self.facts["constants"].items()),
        ):
            if found != expected:
                raise StreamError(
                    f"the kit has {what} {found}, the contest profile says {expected}; "
                    "use a profile for this version of the kit"
                )
        self.vocabulary = self.facts["vocabulary"]
        self.token_bytes = torch.from_numpy(np.load(self._out / "token_bytes.npy"))
        problem = self._lacks([self._purity], self._purity_count)
        if problem is not None:
            raise StreamError(f"there are not enough tokens for the purity tests: {problem}")

    def lacks(self, settings: EvaluationSettings) -> str | None:
        """Why there are not enough tokens for these settings; None where there are."""
        return self._lacks(
            [(settings.split, rank, settings.world_size) for rank in range(settings.world_size)], per_rank(settings)
        )

    def has(self, split: str) -> bool:
        """Whether the kit has any token of a split."""
        return any(self.facts["held"][index]["tokens"] for key, index in self._index.items() if key[0] == split)

    def _lacks(self, keys: Iterable[Key], count: int) -> str | None:
        for split, rank, world_size in keys:
            held = self.facts["held"][self._index[split, rank, world_size]]
            if held["problem"] is not None:
                return f"split {split}, rank {rank} of {world_size}: {held['problem']}"
            if held["tokens"] < count:
                where = f"rank {rank} of {world_size}"
                return f"split {split} holds {held['tokens']} targets for {where}, {count} are asked for"
        return None

    def stream(self, split: str, rank: int, world_size: int, count: int) -> torch.Tensor:
        """The first `count` + 1 tokens of one rank's stream, int32."""
        path = self._out / f"stream-{self._index[split, rank, world_size]}.npy"
        return torch.from_numpy(np.load(path, mmap_mode="c")[: count + 1])

    def purity_rows(self, count: int, seq_len: int) -> torch.Tensor:
        """The first `count` rows of the public split, int32 [count, seq_len]."""
        split, rank, world_size = self._purity
        stream = self.stream(split, rank, world_size, count * seq_len)
        return stream[: count * seq_len].view(count, seq_len)
