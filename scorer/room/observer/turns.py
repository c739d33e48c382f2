"""Turns: this rank makes updates only while it is allowed to, so that two programs can take turns on one machine.

Two named pipes in the records' directory, made by scorer/room/turns.py: `turn-RANK`, from which the rank reads one
byte before each update, and `turns`, to which every rank writes one line at each update's end.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from .settings import Settings

real_process_time = time.process_time  # before the clock is replaced

GO, COUNT, COUNT_PROCESSOR, STOP = b".", b"c", b"p", b"q"
"""Words: make an update; make one and count its operators and their seconds on the wall, or of the processor; end the
run. The pipe's end is a stop, too.
"""
CLOCKS = {COUNT: time.monotonic, COUNT_PROCESSOR: real_process_time}


class Turns:
    """Both pipes, open. `first` is the first update that waits for its turn."""

    def __init__(self, settings: Settings) -> None:
        assert settings.turns_from is not None
        self.first = settings.turns_from
        records, rank = Path(settings.records), int(os.environ["RANK"])
        self._rank = rank
        self._words = os.open(records / f"turn-{rank}", os.O_RDONLY | os.O_CLOEXEC)
        self._said = os.open(records / "turns", os.O_WRONLY | os.O_CLOEXEC)
        self._processor = 0.0

    def wait(self, update: int, seconds: float) -> bytes:
        """Say that the update before `update` took `seconds`, and wait for the word to make this one."""
        if update < self.first:
            return GO
        processor = real_process_time() - self._processor
        os.write(self._said, f"{self._rank} {update - 1} {seconds.hex()} {processor.hex()}\n".encode())
        word = os.read(self._words, 1) or STOP
        self._processor = real_process_time()
        return word
