"""The knobs that were frozen into the artifact."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from scorer.compare.case import Case
from scorer.report.words import plain, told


@dataclass(frozen=True)
class KnobView:
    """One frozen knob of the artifact."""

    name: str
    value: str
    origin: str
    held: str  # what the artifact lane's program held at run time where that differs, or ""


def knobs(case: Case) -> tuple[KnobView, ...]:
    """Every knob, and what the program held at run time where that differs."""
    candidate = case.artifact_lane
    frozen: dict[str, dict[str, Any]] = case.manifest.get("knobs", {})
    held = candidate.ranks[0].knobs if candidate and candidate.ranks else {}
    shown = []
    for name in sorted(frozen.keys() | held.keys()):
        value = told(frozen[name]["value"]) if name in frozen else ""
        other = told(held[name]) if name in held else ""
        origin = plain(str(frozen[name].get("origin", ""))) if name in frozen else "held by the program at run time"
        shown.append(KnobView(name, plain(value or other), origin, plain(other) if value and other != value else ""))
    return tuple(shown)
