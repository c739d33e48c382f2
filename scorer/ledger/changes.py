"""How an artifact differs from the last upload: its knobs one by one, its files in a sentence."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from scorer.ledger.records import Upload

_NAMED = 4  # files that the sentence names


@dataclass(frozen=True)
class KnobChange:
    """A knob with its value then and now, as JSON writes it (so that 1, 1.0 and "1" differ); "" where there is none."""

    name: str
    before: str
    after: str


@dataclass(frozen=True)
class Changes:
    """What changed from one upload to an artifact."""

    since: Upload
    knobs: tuple[KnobChange, ...]
    sentence: str  # on launch and files


def changes(since: Upload, now: Upload) -> Changes:
    """Compare two records; the second may be of an artifact that is yet to be uploaded."""
    knobs = tuple(
        KnobChange(name, before, after)
        for name in sorted(since.knobs.keys() | now.knobs.keys())
        if (before := _shown(since.knobs, name)) != (after := _shown(now.knobs, name))
    )
    return Changes(since, knobs, _sentence(since, now))


def _shown(knobs: Mapping[str, Any], name: str) -> str:
    return json.dumps(knobs[name], sort_keys=True, ensure_ascii=False) if name in knobs else ""


def _sentence(since: Upload, now: Upload) -> str:
    launch = "the launch string is the same" if since.launch == now.launch else f"the launch string was {since.launch}"
    if since.artifact_sha256 == now.artifact_sha256:
        return f"train.py is the same, byte for byte; {launch}."
    size = now.size_bytes - since.size_bytes
    grown = f"{abs(size):,} bytes {'longer' if size > 0 else 'shorter'}" if size else "of the same length"
    return f"train.py is another file, {grown}: {_sources(since, now)}; {launch}."


def _sources(since: Upload, now: Upload) -> str:
    if not since.sources or not now.sources:
        return "what it was made of was not recorded"
    files = sorted(since.sources.keys() | now.sources.keys())
    changed = [file for file in files if since.sources.get(file) != now.sources.get(file)]
    if not changed:
        return "its sources are the same, so it was built otherwise"
    more = f" and {len(changed) - _NAMED} more" if len(changed) > _NAMED else ""
    return f"{len(changed)} of {len(files)} sources changed ({', '.join(changed[:_NAMED])}{more})"
