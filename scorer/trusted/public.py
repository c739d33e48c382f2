"""The organiser's own scorer, the kit's `eval-public`, run in a room of its own on the same file and checkpoint."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from scorer.contest import EvaluationSettings, KitRules
from scorer.room.cleanroom import Room, RoomProcess
from scorer.room.kit import KitPaths
from scorer.room.receipts import Evaluation
from scorer.trusted.process import last_words
from scorer.trusted.settings import EVAL_PUBLIC


class PublicError(RuntimeError):
    """The kit's command failed or printed no result; the message holds its last words."""


class Public:
    """One run of `eval-public`; started at once, read by `result`."""

    def __init__(
        self,
        room: Room,
        kit: KitPaths,
        rules: KitRules,
        train_py: Path,
        checkpoint: Path,
        settings: EvaluationSettings,
        environment: Mapping[str, str],
    ) -> None:
        self.settings = settings
        self._told = f"{rules.file} {rules.eval_public[0]}"
        self._output: IO[bytes] = (room.control / "command.out").open("w+b")
        self._errors: IO[bytes] = (room.control / "command.err").open("w+b")
        values = {"train_py": train_py, "checkpoint": checkpoint, **settings.model_dump()}
        words = [word.format_map(values) for word in rules.eval_public]
        command = [sys.executable, str(kit.directory / rules.file), *words]
        self._began = time.monotonic()
        self._process: RoomProcess = room.popen(command, environment, stdout=self._output, stderr=self._errors)

    def result(self, seconds: float, device: str) -> Evaluation:
        """Wait at most `seconds` and read the numbers that it printed. Raises PublicError."""
        try:
            code = self._process.wait(seconds)
        except TimeoutError:
            self._process.stop()
            raise PublicError(f"{self._told} was still running after {seconds:g} s") from None
        took = time.monotonic() - self._began
        if code != 0:
            raise PublicError(f"{self._told} ended with exit code {code}: {last_words(self._errors)}")
        text = last_words(self._output, 4000)
        try:
            printed: Any = json.loads(text)
            total_nats, val_bpb = float(printed["total_nats"]), float(printed["val_bpb"])
            num_tokens, num_bytes = int(printed["num_tokens"]), int(printed["num_bytes"])
        except (ValueError, KeyError, TypeError):
            raise PublicError(f"{self._told} printed {text!r}, expected its numbers as JSON on the last line") from None
        return Evaluation(
            name=EVAL_PUBLIC,
            split=self.settings.split,
            seq_len=self.settings.seq_len,
            batch_size=self.settings.batch_size,
            world_size=1,
            device=device,
            num_tokens=num_tokens,
            num_bytes=num_bytes,
            total_nats=total_nats.hex(),
            val_bpb=val_bpb.hex(),
            seconds=took,
        )

    def close(self) -> None:
        """Close the output files; the room ends the process."""
        self._output.close()
        self._errors.close()
