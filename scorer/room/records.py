"""From the journals that the observer left in each rank to the receipt's rank records."""

from __future__ import annotations

import contextlib
import json
import statistics
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scorer.room.receipts import (
    Aside,
    Calls,
    Event,
    FirstUse,
    KernelLaunch,
    LineTime,
    OperatorCall,
    Optimizer,
    Parameter,
    Rank,
    ScriptedTime,
    Site,
    Tick,
    Update,
)


@dataclass
class Problem:
    """An uncaught exception of one rank."""

    rank: int
    at: float  # time.monotonic() of the machine
    type: str
    message: str
    module: str | None  # of an ImportError: what could not be imported
    site: Site | None


@dataclass(frozen=True)
class Span:
    """What took a while beside the updates, from `began` to `ended` (time.monotonic() of the machine)."""

    name: str  # "save" or "evaluation"
    began: float
    ended: float


@dataclass
class Journal:
    """One rank's journal, read back."""

    rank: Rank
    started_at: float
    ended: bool  # whether the rank wrote its last line
    problem: Problem | None
    update_times: list[float] = field(default_factory=list)  # time.monotonic() at each update's end
    program_at: float | None = None  # when the interpreter turned to the program; None where it did not tell
    training_at: float | None = None  # when the first batch came or the first backward began; None: neither was seen
    spans: list[Span] = field(default_factory=list)


def read_all(directory: Path, rename: Callable[[str], str]) -> list[Journal]:
    """Every journal in `directory`, by rank. `rename` replaces the room's paths in environment values and details.

    A journal that the observer cannot have written, because the program wrote into it, is left out: its rank then
    counts as one without a record.
    """
    journals = []
    for path in directory.glob("rank-*.jsonl"):
        with contextlib.suppress(ValueError, KeyError, TypeError, AttributeError, IndexError):
            journal = _read(path, rename)
            if journal is not None:
                journals.append(journal)
    return sorted(journals, key=lambda journal: journal.rank.rank)


def lines(data: bytes) -> list[dict[str, Any]]:
    """The whole lines of a journal; the last one of a killed rank may be torn, and is left out."""
    return [json.loads(line) for line in data.split(b"\n")[:-1]]


def _read(path: Path, rename: Callable[[str], str]) -> Journal | None:
    written = lines(path.read_bytes())
    if not written or written[0]["kind"] != "start":
        return None
    start = written[0]
    of_kind: dict[str, list[dict[str, Any]]] = {}
    for line in written:
        of_kind.setdefault(line["kind"], []).append(line)
    model = of_kind.get("model", [{"parameters": [], "knobs": {}}])[0]
    end = of_kind.get("end", [{}])[-1]
    counted = of_kind.get("census", [{"update": None, "rows": [], "times": []}])
    census: dict[str, Any] = counted[0]
    parameters = [Parameter.model_validate(parameter) for parameter in model["parameters"]]
    started = {name: rename(value) for name, value in start["environment"].items()}
    ended = end.get("environment")
    rank = Rank(
        rank=start["rank"],
        world_size=start["world_size"],
        python=start["python"],
        argv=[rename(word) for word in start["argv"]],
        environment_start=started,
        environment_end=started if ended is None else {name: rename(value) for name, value in ended.items()},
        packages=end.get("packages", {}),
        neuron=end.get("neuron", "unknown"),
        devices=sorted({parameter.device for parameter in parameters}),
        knobs=model["knobs"],
        parameters=parameters,
        updates=[_update(line) for line in of_kind.get("update", [])],
        asides=[
            Aside(what=line["what"], update=line["update"], seconds=line["at"] - line["began"])
            for line in of_kind.get("span", [])
        ],
        first_uses=[FirstUse.model_validate(line["use"]) for line in of_kind.get("first-use", [])],
        optimizers=[Optimizer.model_validate(row) for line in of_kind.get("optimizers", []) for row in line["plan"]],
        census_update=census["update"],
        census=[OperatorCall.model_validate(row) for row in census["rows"]],
        calls=[
            Calls(update=line["update"], kinds=line["kinds"], calls=line["calls"]) for line in of_kind.get("calls", [])
        ],
        times=_median_times([line["times"] for line in counted]),
        events=[_event(line["event"], rename) for line in of_kind.get("event", [])],
        observer_seconds=end.get("observer_seconds", 0.0),
        peak_bytes=end.get("peak_bytes"),
        scripted=_scripted(of_kind),
    )
    problem = None
    for line in of_kind.get("problem", [])[:1]:
        site = Site.model_validate(line["site"]) if line["site"] else None
        problem = Problem(rank.rank, line["at"], line["type"], rename(line["message"]), line["module"], site)
    return Journal(
        rank=rank,
        started_at=start["at"],
        ended="end" in of_kind,
        problem=problem,
        update_times=[line["at"] for line in of_kind.get("update", [])],
        program_at=_first_at(of_kind, "program"),
        training_at=_first_at(of_kind, "training"),
        spans=[Span(line["what"], line["began"], line["at"]) for line in of_kind.get("span", [])],
    )


def _first_at(of_kind: dict[str, list[dict[str, Any]]], kind: str) -> float | None:
    return next((float(line["at"]) for line in of_kind.get(kind, [])), None)


def _update(line: dict[str, Any]) -> Update:
    known = {name: line[name] for name in Update.model_fields if name in line}
    known["launches"] = [KernelLaunch.model_validate(row) for row in line["launches"]]
    return Update.model_validate(known)


def _median_times(updates: list[list[dict[str, Any]]]) -> list[LineTime]:
    """Of each line and operator the median over the counted updates; where it does not occur it took no time."""
    rows: dict[tuple[str, int, str], list[LineTime]] = {}
    for update in updates:
        for row in map(LineTime.model_validate, update):
            file, line = (row.site.file, row.site.line) if row.site else ("", 0)
            rows.setdefault((file, line, row.operator), []).append(row)

    def median(values: list[float]) -> float:
        return statistics.median([*values, *[0.0] * (len(updates) - len(values))])

    return [
        found[0].model_copy(
            update={
                "count": max(row.count for row in found),
                "seconds": median([row.seconds for row in found]),
                "before_seconds": median([row.before_seconds for row in found]),
            }
        )
        for _, found in sorted(rows.items())
    ]


def _scripted(of_kind: dict[str, list[dict[str, Any]]]) -> ScriptedTime | None:
    if "clock" not in of_kind:
        return None
    end: dict[str, Any] = of_kind.get("clock-end", [{"seconds": None, "reads": []}])[0]
    return ScriptedTime(
        ticks=[
            Tick(update=line["update"], seconds=line["seconds"], reads=_sites(line["reads"]))
            for line in of_kind.get("tick", [])
        ],
        end_seconds=end["seconds"],
        last_reads=_sites(end["reads"]),
    )


def _sites(found: list[dict[str, Any]]) -> list[Site]:
    return [Site.model_validate(site) for site in found]


def _event(event: dict[str, Any], rename: Callable[[str], str]) -> Event:
    return Event.model_validate({**event, "detail": rename(event["detail"])})
