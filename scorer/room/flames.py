"""Where the time of profiled updates went, call by call, as the observer's flames tell it (observer/flame.py)."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Literal

from pydantic import Field

from scorer.files import write_atomic
from scorer.room import records
from scorer.room.receipts import Record

FILE = "flame-rank-{}.json"

Phase = Literal["forward", "backward", "optimizer", "collectives", "data", "other", "recording"]
PHASES: tuple[Phase, ...] = ("forward", "backward", "optimizer", "collectives", "data", "other", "recording")
"""What an update's time goes into; the last one is what recording it takes."""


class Frame(Record):
    """A line of the program, in the function that it is part of."""

    file: str
    line: int
    function: str


class FlameRow(Record):
    """Time of one operator or kernel as one stack of lines calls it, or the program's own between them."""

    phase: Phase
    stack: list[int] = Field(description="places in `frames`, outermost first")
    operator: str = Field(description="aten::mm; empty for the program's own time, and for a kernel outside of any")
    kernel: str = Field(description="name[cores] signature; empty where none is launched")
    count: int = Field(description="calls")
    seconds: float


class Flame(Record):
    """One update of one rank: the rows add up to its seconds."""

    update: int
    seconds: float
    frames: list[Frame]
    rows: list[FlameRow]

    def seconds_in(self, phase: Phase) -> float:
        """Seconds of all rows of a phase."""
        return sum(row.seconds for row in self.rows if row.phase == phase)


class RankFlames(Record):
    """The profiled updates of one rank."""

    rank: int
    flames: list[Flame]


def collect(room: Path, keep: Path) -> None:
    """Take the flames out of the room, a file per rank that has any."""
    for path in sorted(room.glob("rank-*.jsonl")):
        # A journal that the observer cannot have written, because the program wrote into it, is left out.
        with contextlib.suppress(ValueError, KeyError, TypeError, AttributeError):
            lines = records.lines(path.read_bytes())
            flames = [Flame.model_validate(_fields(line)) for line in lines if line["kind"] == "flame"]
            if flames:
                found = RankFlames(rank=int(lines[0]["rank"]), flames=flames)
                write_atomic(keep / FILE.format(found.rank), found.model_dump_json(indent=1) + "\n")


def read(keep: Path) -> list[RankFlames]:
    """The flames that a lane kept, by rank."""
    found = [RankFlames.model_validate_json(path.read_bytes()) for path in keep.glob(FILE.format("*"))]
    return sorted(found, key=lambda each: each.rank)


def _fields(line: dict[str, object]) -> dict[str, object]:
    return {name: line[name] for name in Flame.model_fields}
