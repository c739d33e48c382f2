"""Turns: from outside a run, when its ranks may make an update (from inside: observer/turns.py).

    turns = Turns(first=5)                                  # given to run_lane in its LaneSpec
    turns.give(GO * 3); taken = turns.taken(3, timeout=60)  # while run_lane runs in another thread
    turns.give(STOP)

From update `first` on every rank waits before each update for one word from its named pipe, and says at the update's
end how long it took.
"""

from __future__ import annotations

import os
import select
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from scorer.room.observer.turns import COUNT, COUNT_PROCESSOR, GO, STOP

__all__ = ["COUNT", "COUNT_PROCESSOR", "GO", "STOP", "Taken", "Turns"]

POLL_SECONDS = 0.1


@dataclass(frozen=True)
class Taken:
    """One update that all ranks have made."""

    update: int
    seconds: float  # of the slowest rank
    processor_seconds: float  # of all ranks together


class Turns:
    """The pipes of one run. `open` and `close` are run_lane's; the rest is for whoever gives the turns."""

    def __init__(self, first: int) -> None:
        self.first = first
        self._words: list[int] = []
        self._said = -1
        self._text = b""
        self._waiting: dict[int, dict[int, tuple[float, float]]] = {}  # update -> rank -> its times
        self._lock = threading.Lock()
        self._is_open, self._is_closed = threading.Event(), threading.Event()

    def open(self, records: Path, ranks: int) -> None:
        """Make the pipes. Both ends are held, so that neither side's opening waits for the other."""
        for name in [*(f"turn-{rank}" for rank in range(ranks)), "turns"]:
            os.mkfifo(records / name)
            (records / name).chmod(0o666)
        self._words = [os.open(records / f"turn-{rank}", os.O_RDWR | os.O_CLOEXEC) for rank in range(ranks)]
        self._said = os.open(records / "turns", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        self._is_open.set()

    def close(self) -> None:
        """The run has ended."""
        with self._lock:
            self._is_closed.set()
            self._is_open.set()
            for descriptor in [*self._words, *([self._said] if self._said >= 0 else [])]:
                os.close(descriptor)
            self._words, self._said = [], -1

    def give(self, words: bytes) -> None:
        """Let every rank make as many updates as there are words; nothing where the run has ended."""
        with self._lock:
            for descriptor in self._words:
                os.write(descriptor, words)

    def taken(self, count: int, timeout: float) -> list[Taken]:
        """Wait until every rank has made `count` more updates and waits again. Fewer where the run ended, or where
        `timeout` seconds passed without a word.
        """
        self._is_open.wait(timeout)
        made: list[Taken] = []
        heard = time.monotonic()
        while len(made) < count and not self._is_closed.is_set() and time.monotonic() - heard < timeout:
            if self._hear():
                heard = time.monotonic()
                made += self._whole()
        return made

    def _hear(self) -> bool:
        with self._lock:
            if self._said < 0 or not select.select([self._said], [], [], POLL_SECONDS)[0]:
                return False
            self._text += os.read(self._said, select.PIPE_BUF)
        *lines, self._text = self._text.split(b"\n")
        for line in lines:
            rank, update, seconds, processor = line.decode().split()
            times = float.fromhex(seconds), float.fromhex(processor)
            self._waiting.setdefault(int(update), {})[int(rank)] = times
        return bool(lines)

    def _whole(self) -> list[Taken]:
        """Updates of which every rank has told."""
        whole = [update for update, told in sorted(self._waiting.items()) if len(told) == len(self._words)]
        taken = []
        for update in whole:
            times = self._waiting.pop(update).values()
            taken.append(Taken(update, max(wall for wall, _ in times), sum(processor for _, processor in times)))
        return taken
