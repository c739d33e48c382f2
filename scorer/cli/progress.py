"""What the lanes are doing, live on a terminal and as plain lines elsewhere; always on standard error."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

_UPDATE = re.compile(r"update (\d+)(?:, loss (\S+))?")
_PLAIN_SECONDS = 10.0  # a lane's steps are reported at most this often where nothing can be redrawn


@dataclass
class _Lane:
    started: float = field(default_factory=time.monotonic)
    update: str = ""
    loss: str = ""
    note: str = "starting"
    ended: float | None = None
    good: bool = True
    reported: float = 0.0


class Progress:
    """Collects the news of several lanes, which may run in threads."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._lock = threading.Lock()
        self._lanes: dict[str, _Lane] = {}
        self._spinner = Spinner("dots")
        self._live = Live(console=console, get_renderable=self.table, refresh_per_second=8, transient=True)

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._console.is_terminal:
            self._live.stop()

    def start(self, lane: str, note: str = "starting") -> Callable[[str], None]:
        """Announce a lane; what is returned takes its news, `update N, loss L` or any other line."""
        with self._lock:
            self._lanes[lane] = _Lane(note=note)
        self._plain(lane, note)
        return lambda line: self._line(lane, line)

    def end(self, lane: str, outcome: str, good: bool) -> None:
        """Announce how a lane ended."""
        with self._lock:
            state = self._lanes[lane]
            state.note, state.good, state.ended = outcome, good, time.monotonic()
        self._plain(lane, f"{outcome} after {state.ended - state.started:.1f} s")

    def _line(self, lane: str, line: str) -> None:
        text = line.removeprefix(f"{lane}: ")
        update = _UPDATE.fullmatch(text)
        with self._lock:
            state = self._lanes[lane]
            state.note = "training" if update else text
            if update:
                state.update, state.loss = update[1], update[2] or ""
            due = not update or time.monotonic() - state.reported >= _PLAIN_SECONDS
            if due and update:
                state.reported = time.monotonic()
        if due:
            self._plain(lane, text)

    def _plain(self, lane: str, text: str) -> None:
        if not self._console.is_terminal:
            self._console.print(f"{lane}: {text}", markup=False, highlight=False, soft_wrap=True)

    def table(self) -> Table:
        """What a terminal shows now: one row per lane."""
        table = Table(box=None, pad_edge=False, header_style="dim")
        for name, justify in (
            ("", "left"),
            ("lane", "left"),
            ("update", "right"),
            ("loss", "right"),
            ("time", "right"),
        ):
            table.add_column(name, justify=justify)  # type: ignore[arg-type]
        table.add_column("", no_wrap=True, overflow="ellipsis", style="dim")
        with self._lock:
            for name, lane in self._lanes.items():
                seconds = (lane.ended or time.monotonic()) - lane.started
                sign = self._spinner if lane.ended is None else Text("✓", "green") if lane.good else Text("✗", "red")
                table.add_row(sign, name, lane.update, lane.loss, f"{seconds:.0f} s", Text(lane.note))
        return table
