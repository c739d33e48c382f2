"""The lines that a report names: in the recipe and in train.py, side by side."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from scorer.artifact import Artifact
from scorer.findings import Place

_AROUND = 4  # lines before and after the one that is meant
_WIDEST = 200  # characters of a line
_MOST = 60  # places that are shown


@dataclass(frozen=True)
class Line:
    """A line of a file, from 1; `marked` is the one that is meant."""

    number: int
    text: str
    marked: bool


@dataclass(frozen=True)
class SourceView:
    """One place. A side without lines is not known, and `missing` says why the recipe's is not."""

    place: str  # "recipe/model.py:12"
    recipe: tuple[Line, ...]
    missing: str
    artifact_line: int | None
    artifact: tuple[Line, ...]


def sources(
    places: Iterable[tuple[str, int | None]], artifact: Artifact, recipe: Path | None
) -> tuple[SourceView, ...]:
    """Excerpts around (place as text, line of train.py or None), each place once, in this order, as many as are read.

    `recipe` is the directory that the places' files are relative to. A file that is not the one that was built is not
    shown: its lines would be others.
    """
    first: dict[str, int | None] = {}
    for place, line in places:
        if place and first.get(place) is None:
            first[place] = line
    built = {str(place): number for number, place in reversed(list(enumerate(artifact.places or (), 1))) if place}
    lines = artifact.source.split("\n")
    shown = []
    for place, line in list(first.items())[:_MOST]:
        file, _, number = place.rpartition(":")
        own = artifact.places is None and file == artifact.train_py.name
        at = line or built.get(place) or (int(number) if own else None)
        text, missing = (None, "") if own else _read(Place(file=file, line=int(number)), artifact, recipe)
        there = _excerpt(text.split("\n"), int(number)) if text is not None else ()
        here = _excerpt(lines, at) if at is not None else ()
        if here or there:
            shown.append(SourceView(place, there, missing, at, here))
    return tuple(shown)


def _read(place: Place, artifact: Artifact, recipe: Path | None) -> tuple[str | None, str]:
    """The text of a recipe's file, or why it is not shown."""
    if recipe is None:
        return None, "The recipe itself was not at hand."
    path = (recipe / place.file).resolve()
    if not path.is_relative_to(recipe.resolve()) or not path.is_file():
        return None, "The file is not in the recipe's directory."
    content = path.read_bytes()
    built = (artifact.manifest or {}).get("sources", {}).get(place.file)
    if built is not None and built != hashlib.sha256(content).hexdigest():
        return None, "The file has changed since the artifact was built from it."
    return content.decode("utf-8", "replace"), ""


def _excerpt(lines: list[str], number: int) -> tuple[Line, ...]:
    first = max(1, number - _AROUND)
    return tuple(
        Line(at, lines[at - 1].rstrip("\r").replace("\t", "    ")[:_WIDEST], at == number)
        for at in range(first, min(len(lines), number + _AROUND) + 1)
        if at < len(lines) or lines[at - 1]
    )
