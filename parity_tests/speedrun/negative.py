"""Published negative results, tried again: each pair of programs built, run and told by `scorer trial`.

The pairs are negative.yaml; the statistics are the scorer's. What is there already is not run again.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from parity_tests.speedrun.entries import ROOT, EntryError, build, config_of, cpu_settings
from scorer.contest import Profile

PAIRS = Path(__file__).with_name("negative.yaml")
DOCUMENT = "trial.json"
BAD_INPUT = 2  # of the scorer's exit codes; the others are decisions

Value = bool | int | float | str


class Pair(BaseModel):
    """One published result: two programs that differ in what was changed."""

    model_config = ConfigDict(extra="forbid")

    name: str
    published: str
    system: str
    device: Literal["cpu", "configured"]
    old: dict[str, Value]
    new: dict[str, Value]

    @property
    def directory(self) -> str:
        """Its name as that of a directory."""
        return self.name.replace(" ", "-")


class Told(BaseModel):
    """What a trial measured, new less old: bits per byte, and the ratio of the seconds of a step."""

    model_config = ConfigDict(extra="forbid")

    name: str
    published: str
    decision: str
    reason: str
    at_equal_time: float | None
    at_equal_steps: float | None
    time_ratio: float | None
    steps_cost: float | None
    per_step: float | None


def pairs(path: Path = PAIRS) -> list[Pair]:
    """The pairs of a file. Raises EntryError that names the file and what is wrong with it."""
    try:
        return TypeAdapter(list[Pair]).validate_python(yaml.safe_load(path.read_text("utf-8")))
    except ValidationError as error:
        first = error.errors()[0]
        raise EntryError(f"{path}: {'.'.join(map(str, first['loc']))}: {first['msg']}; correct it") from error


def sides(pair: Pair, seeds: Sequence[int], contest: Path, profile: Profile, root: Path) -> tuple[Path, Path]:
    """Both programs of a pair, built for every seed: `root/NAME/old/SEED` and `root/NAME/new/SEED`."""
    _, config = config_of(pair.system)
    base = cpu_settings(config) if pair.device == "cpu" else {}
    made = []
    for side, changes in (("old", pair.old), ("new", pair.new)):
        made.append(root / pair.directory / side)
        for seed in seeds:
            settings = {**base, **{name: json.dumps(value).strip('"') for name, value in changes.items()}}
            build(config, {**settings, "seed": str(seed)}, contest, profile, made[-1] / str(seed))
    return made[0], made[1]


def try_all(
    wanted: Sequence[Pair], make: Callable[[Pair], tuple[Path, Path, Path]], root: Path, say: Callable[[str], None]
) -> list[Told]:
    """Run the trial of each pair, or read it where it is there. `make` builds a pair: old, new and the contest's file.

    Raises EntryError where a trial cannot be run at all.
    """
    found = []
    for number, pair in enumerate(wanted, 1):
        out = root / pair.directory / "trial"
        if not (out / DOCUMENT).is_file():
            say(f"{pair.name}, {number} of {len(wanted)}")
            old, new, contest = make(pair)
            words = [sys.executable, "-m", "scorer", "trial", str(old), str(new), "--several", "--past-gate"]
            done = subprocess.run([*words, "--contest", str(contest), "-o", str(out)], cwd=ROOT, check=False)
            if done.returncode == BAD_INPUT or not (out / DOCUMENT).is_file():
                raise EntryError(f"{pair.name}: the trial ended with exit code {done.returncode}; see above")
        found.append(told(pair, json.loads((out / DOCUMENT).read_text("utf-8"))))
    return found


def told(pair: Pair, trial: dict[str, Any]) -> Told:
    """A trial's numbers, as means over its seeds."""
    ratios = [one["time_ratio"] for one in trial["pairs"]]
    means = {
        name: None if trial[name] is None else trial[name]["mean"]
        for name in ("at_equal_time", "at_equal_steps", "steps_cost", "per_step")
    }
    return Told(
        name=pair.name,
        published=pair.published,
        decision=trial["decision"],
        reason=trial["reason"],
        time_ratio=sum(ratios) / len(ratios) if ratios else None,
        **means,
    )


def show(found: Sequence[Told], console: Console) -> None:
    """Print what was measured beside what was published."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("change")
    for head in ("equal time, bpb", "equal steps, bpb", "s/step", "steps cost, bpb", "per step, bpb"):
        table.add_column(head, justify="right")
    table.add_column("published")
    for one in found:
        ratio = "" if one.time_ratio is None else f"{one.time_ratio:.3f} x"
        numbers = [_signed(one.at_equal_time), _signed(one.at_equal_steps), ratio, _signed(one.steps_cost)]
        table.add_row(one.name, *numbers, _signed(one.per_step), Text(one.published, style="dim"))
    console.print(table)
    for one in found:
        console.print(Text(f"{one.name}: {one.decision}: {one.reason}"), soft_wrap=True)


def _signed(value: float | None) -> str:
    return "" if value is None else f"{value:+.4f}"
