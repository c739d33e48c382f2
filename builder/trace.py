"""Logs of an artifact in the recipe's own files and lines.

    File "/room/train.py", line 812, in forward        File "recipe/model.py", line 96, in forward
      x = torch.nn.functional.rms_norm(x, (256,))        x = torch.nn.functional.rms_norm(x, (config.width,))
    /room/train.py:40: UserWarning: ...                recipe/data.py:12: UserWarning: ...

Works line by line, on any text: what names no line of train.py goes through unchanged. The source text under a frame
tells whether the log is this artifact's: a frame whose text is another is left alone, and counted.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from builder.errors import refuse
from builder.places import Place, Places, read_places

COLOUR = r"(?:\x1b\[[0-9;]*m)*"
COLOURED = re.compile(r"\x1b\[[0-9;]*m")
# Before a rank's lines torchrun writes `[rank0]: ` or `[default0]:`.
LABEL = re.compile(r"\s*\[[A-Za-z_]+\d*\]:")
FRAME = re.compile(
    rf'(?P<before>.*?)File {COLOUR}"(?P<path>{COLOUR}(?:[^"]*[/\\])?train\.py{COLOUR})"{COLOUR}, '
    rf"line {COLOUR}(?P<line>\d+)"
)
AT_START = re.compile(r"(?P<path>(?:/|[A-Za-z]:[/\\])[^:\"]*[/\\]train\.py):(?P<line>\d+)(?=:)")
MENTION = re.compile(
    r"(?P<path>(?<![\w.\-/\\])(?:[^\s\"'():=,\[\]]*[/\\])?train\.py)(?::|, line | line )(?P<line>\d+)\b"
)
MARKS = re.compile(r"[\s|+]*[\^~][\^~\s]*")


@dataclass
class Frame:
    """A `File "...", line N` that waits for the line below it, which shows whether it is this artifact's."""

    text: str
    before: str
    line: int
    translated: str


@dataclass
class Below:
    """What to do with the lines under a frame that was translated: its marks fit the recipe's line or they do not."""

    before: str
    marks_fit: bool


class Tracer:
    """Translates lines, each with its line end. `strangers` counts frames whose text this artifact does not have."""

    def __init__(self, artifact: Path, root: Path) -> None:
        directory = artifact if artifact.is_dir() else artifact.parent
        self.places: Places = read_places(artifact)
        try:
            self.text = (directory / "train.py").read_text(encoding="utf-8").split("\n")
        except (OSError, UnicodeDecodeError) as error:
            raise refuse("BLD047", str(directory / "train.py"), 0, f"cannot be read: {error}", "build again") from error
        self.sources = _Sources(directory, root)
        self.strangers = 0
        self.waiting: dict[str, Frame] = {}
        self.below: dict[str, Below] = {}

    def run(self, lines: Iterable[str]) -> Iterator[str]:
        """The lines, translated; one that may need the next is held until that comes."""
        for line in lines:
            yield from self.line(line)
        for frame in self.waiting.values():
            yield frame.translated

    def line(self, line: str) -> Iterator[str]:
        """What one line lets out: a frame that waited for it, and itself."""
        label = _label(line)
        frame = self.waiting.pop(label, None)
        if frame is not None:
            code = self.code_below(frame, line)
            if code is None:
                self.strangers += 1
                yield frame.text
            else:
                yield frame.translated
                if code:
                    yield code
                    return
        elif self.is_dropped(label, line):
            return
        found = FRAME.match(line)
        if found is None:
            yield self.mentions(line, label)
            return
        number = int(found["line"])
        place = self.places.of(number)
        self.below.pop(label, None)
        if place is None:
            yield line
            return
        translated = line[: found.start("path")] + place[0] + line[found.end("path") : found.start("line")]
        translated += str(place[1]) + line[found.end("line") :]
        self.waiting[label] = Frame(line, found["before"], number, translated)

    def code_below(self, frame: Frame, line: str) -> str | None:
        """The line under a frame in the recipe's text; "" when it is no source text; None when it is other source."""
        body = line.rstrip("\r\n")
        plain = COLOURED.sub("", body)
        text = self.text[frame.line - 1].strip() if frame.line <= len(self.text) else ""
        if not text or not plain.endswith(text) or plain[: -len(text)].strip() != frame.before.strip():
            is_code = plain.startswith(f"{frame.before} ") and plain.strip() and not FRAME.match(line)
            return None if is_code else ""
        place = self.places.of(frame.line)
        source = self.sources.line(place) if place else None
        self.below[_label(line)] = Below(frame.before, source is None or source == text)
        if source is None or source == text:
            return line
        return plain[: -len(text)] + source + line[len(body) :]

    def is_dropped(self, label: str, line: str) -> bool:
        """Whether a line marks columns of a text that the recipe has otherwise."""
        below = self.below.get(label)
        if below is None:
            return False
        rest = line[len(below.before) :] if line.startswith(below.before) else line
        is_marks = MARKS.fullmatch(COLOURED.sub("", rest).rstrip("\r\n")) is not None
        return is_marks and not below.marks_fit

    def mentions(self, line: str, label: str) -> str:
        """A line with every `train.py:N` in it translated."""
        begin = len(label) + len(line[len(label) :]) - len(line[len(label) :].lstrip())
        start = AT_START.match(line, begin)
        if start and self.places.of(int(start["line"])):
            place = self.places.of(int(start["line"]))
            assert place
            rest = MENTION.sub(self.mention, line[start.end() :])
            return f"{line[:begin]}{place[0]}:{place[1]}{rest}"
        return MENTION.sub(self.mention, line)

    def mention(self, match: re.Match[str]) -> str:
        """One mention in the recipe's words; as it is where the builder wrote the line."""
        place = self.places.of(int(match["line"]))
        if place is None:
            return match.group()
        between = match.group()[len(match["path"]) : -len(match["line"])]
        return f"{place[0]}{between}{place[1]}"


def _label(line: str) -> str:
    """The rank that a line names itself after, as torchrun writes it; "" where it does not."""
    match = LABEL.match(line)
    return match.group() if match else ""


class _Sources:
    """The recipe's lines, as far as its files are the ones that the artifact was built of."""

    def __init__(self, directory: Path, root: Path) -> None:
        self.root = root
        self.known: dict[str, str] = {}
        self.files: dict[str, list[str] | None] = {}
        try:
            manifest = json.loads((directory / "manifest.json").read_text(encoding="utf-8"))
            self.known = dict(manifest["sources"])
        except (OSError, ValueError, KeyError, TypeError):
            self.known = {}  # without it no file can be told to be the right one, and the artifact's text stays

    def line(self, place: Place) -> str | None:
        """The text of a place, without its indentation."""
        name, number = place
        if name not in self.files:
            self.files[name] = self.read(name)
        lines = self.files[name]
        return lines[number - 1].strip() if lines and number <= len(lines) else None

    def read(self, name: str) -> list[str] | None:
        try:
            text = (self.root / name).read_text(encoding="utf-8-sig")  # line ends become \n
        except (OSError, UnicodeDecodeError):
            return None
        return text.split("\n") if hashlib.sha256(text.encode()).hexdigest() == self.known.get(name) else None
