"""An artifact's source map, read back: which line of the recipe a line of its train.py came from."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from builder.errors import BuildError, refuse

Place = tuple[str, int]
WHERE = re.compile(r"(?P<file>.*?):(?P<first>\d+)(?:-(?P<last>\d+))?")


@dataclass(frozen=True)
class Places:
    """For every line of train.py, `lines[0]` the first, its recipe file and line; None where the builder wrote it."""

    lines: tuple[Place | None, ...]

    def of(self, line: int) -> Place | None:
        """The place of a 1-based line; None where the builder wrote it or the file has no such line."""
        return self.lines[line - 1] if 1 <= line <= len(self.lines) else None


def read_places(artifact: Path) -> Places:
    """The source map of an artifact, given as its directory or its train.py; a BuildError where that cannot be read."""
    path = artifact / "train.py.map" if artifact.is_dir() else artifact.with_name(artifact.name + ".map")
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        sources, lines = document["sources"], document["lines"]
        places = tuple((str(sources[entry[0]]), int(entry[1])) if entry else None for entry in lines)
    except OSError as error:
        remedy = "name the directory that `builder produce` wrote, or the train.py in it"
        raise refuse("BLD047", str(path), 0, f"no source map: {error.strerror}", remedy) from error
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise refuse("BLD047", str(path), 0, f"not a source map ({error})", "build the artifact again") from error
    return Places(places)


def where(text: str) -> list[str]:
    """What `builder where` prints for `DIR_OR_FILE:LINE` or `DIR_OR_FILE:FIRST-LAST`.

    One line of the artifact gives its place; a range gives one row per run of lines that stayed together.
    """
    match = WHERE.fullmatch(text)
    if match is None:
        raise _wrong(text, "is not DIR:LINE, TRAIN_PY:LINE or either with a range LINE-LINE")
    first, last = int(match["first"]), int(match["last"] or match["first"])
    places = read_places(Path(match["file"] or "."))
    count = len(places.lines)
    if not 1 <= first <= last <= count:
        what = f"lines {first} to {last}" if match["last"] else f"line {first}"
        raise _wrong(text, f"names {what}; the file has {count} lines")
    if match["last"] is None:
        place = places.of(first)
        return [f"{place[0]}:{place[1]}" if place else "a line that the builder wrote"]
    return [
        f"{_span(begin, end)}: {f'{place[0]}:{_span(place[1], place[1] + end - begin)}' if place else 'the builder'}"
        for begin, end, place in _runs(places, first, last)
    ]


def _runs(places: Places, first: int, last: int) -> list[tuple[int, int, Place | None]]:
    """Lines first to last cut into runs that follow each other in one source: (first, last, place of the first).

    A blank line has no place of its own; it goes with the run around it.
    """
    runs: list[tuple[int, int, Place | None]] = []
    for line in range(first, last + 1):
        place = places.of(line)
        if runs:
            begin, _, start = runs[-1]
            if place is None and start is None:
                runs[-1] = (begin, line, None)
                continue
            if place and start and place == (start[0], start[1] + line - begin):
                runs[-1] = (begin, line, start)
                continue
        runs.append((line, line, place))
    return _joined(runs)


def _joined(runs: list[tuple[int, int, Place | None]]) -> list[tuple[int, int, Place | None]]:
    """Runs that only lines without a place part, and that continue each other, are one."""
    joined: list[tuple[int, int, Place | None]] = []
    for begin, end, place in runs:
        if len(joined) >= 2 and place and joined[-1][2] is None:
            before, _, start = joined[-2]
            if start and place == (start[0], start[1] + begin - before):
                joined[-2:] = [(before, end, start)]
                continue
        joined.append((begin, end, place))
    return joined


def _span(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"


def _wrong(text: str, what: str) -> BuildError:
    return refuse("BLD047", text, 0, what, "write for example build/artifact:120 or build/artifact/train.py:120-140")
