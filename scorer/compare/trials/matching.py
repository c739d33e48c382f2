"""Which builds of two programs are compared with each other, and in what they differ."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import Field

from scorer.artifact import Artifact
from scorer.compare.knobs import same
from scorer.compare.trials.result import Part


class ChangeError(ValueError):
    """Two programs that cannot be tried against each other; the message says why and what to do."""


class KnobChange(Part):
    """A knob with its values, as JSON; empty where a program has none."""

    name: str
    old: str
    new: str


class Difference(Part):
    """What differs between the programs, by their manifests."""

    knobs: list[KnobChange]
    sources: list[str] = Field(description="source files that are not the same")
    told: str


@dataclass(frozen=True)
class Matched:
    """The builds of one seed."""

    seed: str
    old: Artifact
    new: Artifact


def match(old: Sequence[Artifact], new: Sequence[Artifact]) -> list[Matched]:
    """Pair the builds of both programs by the knob in which those of each differ. ChangeError where none fit."""
    if len(old) == 1 and len(new) == 1:
        return [Matched("", old[0], new[0])]
    names = {_seed_knob(old), _seed_knob(new)}
    if len(names) != 1 or len(old) != len(new):
        raise ChangeError(
            f"{len(old)} old and {len(new)} new builds, which differ in {' and '.join(sorted(names))}: expected as "
            "many of both, which differ in one and the same knob, the seed; build both with the same seeds"
        )
    (name,) = names
    values = [{_value(artifact, name): artifact for artifact in arm} for arm in (old, new)]
    if values[0].keys() != values[1].keys() or len(values[0]) < len(old):
        raise ChangeError(f"the builds have other values of {name}; build both programs with the same seeds")
    return [Matched(f"{name} {value}", values[0][value], values[1][value]) for value in values[0]]


def difference(pairs: Sequence[Matched], several: bool) -> Difference:
    """What differs in each pair, the same in all. ChangeError for more than one thing, unless asked for."""
    found = [_differs(pair) for pair in pairs]
    if any(one != found[0] for one in found):
        raise ChangeError("the pairs differ in other things than each other; build them from the same two programs")
    knobs, sources = found[0]
    things = len(knobs) + bool(sources)
    named = [f"{knob.name} {knob.old or 'absent'} -> {knob.new or 'absent'}" for knob in knobs]
    if sources:
        named.append(f"sources {', '.join(sources)}")
    if things > 1 and not several:
        raise ChangeError(
            f"{things} things differ: {'; '.join(named)}. Nobody knows then which of them made the difference: "
            "change one thing, or say --several"
        )
    return Difference(knobs=knobs, sources=sources, told="; ".join(named) or "nothing differs: a control")


def _knobs(artifact: Artifact) -> Mapping[str, Any]:
    manifest = artifact.manifest or {}
    return {name: knob["value"] for name, knob in manifest.get("knobs", {}).items()}


def _value(artifact: Artifact, name: str) -> str:
    knobs = _knobs(artifact)
    return json.dumps(knobs[name], ensure_ascii=False) if name in knobs else ""


def _names_that_differ(one: Artifact, other: Artifact) -> list[str]:
    left, right = _knobs(one), _knobs(other)
    names = sorted(left.keys() | right.keys())
    return [name for name in names if name not in left or name not in right or not same(left[name], right[name])]


def _seed_knob(builds: Sequence[Artifact]) -> str:
    found = sorted({name for other in builds[1:] for name in _names_that_differ(builds[0], other)})
    return ", ".join(found) or "nothing"


def _differs(pair: Matched) -> tuple[list[KnobChange], list[str]]:
    if pair.old.sha256 == pair.new.sha256:
        return [], []
    knobs = [
        KnobChange(name=name, old=_value(pair.old, name), new=_value(pair.new, name))
        for name in _names_that_differ(pair.old, pair.new)
    ]
    old, new = ((artifact.manifest or {}).get("sources", {}) for artifact in (pair.old, pair.new))
    sources = [
        file for file in sorted(old.keys() | new.keys()) if file.endswith(".py") and old.get(file) != new.get(file)
    ]
    if not knobs and not sources:
        sources = ["train.py"]  # somebody else's file, or one that was built otherwise
    return knobs, sources
