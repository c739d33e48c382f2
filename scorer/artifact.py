"""Reading an artifact: the built submission (`train.py`, `launch-command.txt`, `manifest.json`, `train.py.map`).

A bare `train.py` with a launch string is an artifact too; it then has no manifest, and its lines stand for themselves.
What else the contest takes (kernels, an `inference.py`) is added by `with_others`.
"""

from __future__ import annotations

import hashlib
import json
import stat
import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any, Protocol

from scorer.contest import Profile
from scorer.findings import Place

LARGEST = 64 << 20  # bytes of a file that is read at all; what a contest takes is far less
MAP_VERSION = 1
MANIFEST_VERSION = 1
LAUNCH_FILE, MANIFEST_FILE, MAP_FILE = "launch-command.txt", "manifest.json", "train.py.map"


class Site(Protocol):
    """A line of an observed program, as receipts keep it: a path relative to the program's root, and a line from 1."""

    file: str
    line: int


class ArtifactError(ValueError):
    """An artifact that cannot be used; the message names the file, what was expected and what to do."""


@dataclass(frozen=True)
class Artifact:
    """One submission: its files, its launch string, and where its lines come from."""

    train_py: Path
    source: str
    launch_command: str
    manifest: dict[str, Any] | None
    sha256: str  # of train.py's bytes
    places: tuple[Place | None, ...] | None  # recipe place of each line (index 0: line 1); None: no map
    member: str | None = None  # name within the submission; None: the file that the launch string starts
    others: tuple[Artifact, ...] = ()  # the submission's other files, by name; they have neither launch string nor map
    modules: frozenset[str] = frozenset()  # what those make importable

    @classmethod
    def load(cls, directory: Path) -> Artifact:
        """Read the builder's output directory; every file of it must be there and make sense.

        A train.py that was changed since is read all the same, and the review says so. Where its lines are no longer
        those of the map, they stand for themselves.
        """
        train_py = directory / "train.py"
        source, sha256 = _read_source(train_py)
        launch_file = directory / LAUNCH_FILE
        manifest = _read_json(directory / MANIFEST_FILE, "manifest_version", MANIFEST_VERSION)
        launch_command = _read_text(launch_file).strip()
        if not launch_command:
            raise ArtifactError(f"{launch_file}: empty; expected the launch string on one line; build it again")
        map_file = directory / MAP_FILE
        places = _read_map(map_file)
        fits = len(places) == _line_count(source)
        if not fits and manifest.get("artifact_sha256") == sha256:
            found = f"{len(places)} lines mapped, train.py has {_line_count(source)}"
            raise ArtifactError(f"{map_file}: {found}; build the artifact again")
        return cls(train_py, source, launch_command, manifest, sha256, places if fits else None)

    @classmethod
    def from_file(cls, train_py: Path, launch_text: str) -> Artifact:
        """Any train.py with its launch string, built by this project or not; a map beside it is not looked for."""
        source, sha256 = _read_source(train_py)
        return cls(train_py, source, launch_text.strip(), None, sha256, None)

    def with_others(self, profile: Profile, named: Iterable[Path] = ()) -> Artifact:
        """The submission with its other files: all that lie in the builder's directory; beside a bare file, the ones
        that the contest requires, and those that are `named`, each taken under its own name.

        What is required and not there is a finding of the review. Raises ArtifactError for a file that the contest does
        not take, and for one that would be imported instead of the kit or of a package.
        """
        directory = self.train_py.parent
        found = {path.name: path for path in named}
        if self.manifest is not None:
            own = {self.train_py.name, LAUNCH_FILE, MANIFEST_FILE, MAP_FILE}
            found |= {name: directory / name for name in _below(directory) if name not in own}
        for file in profile.files.submission:
            if file.required and file.name != profile.launch.script and (directory / file.name).is_file():
                found.setdefault(file.name, directory / file.name)
        for name, path in found.items():
            _check_name(name, path, profile)
        others = []
        for name, path in sorted(found.items()):
            source, sha256 = _read_source(path)
            modules = {_module(other) for other in (*found, profile.launch.script) if other != name}
            others.append(Artifact(path, source, "", None, sha256, None, name, (), frozenset(modules)))
        return replace(self, others=tuple(others), modules=frozenset(map(_module, found)))

    def place(self, line: int) -> Place | None:
        """Where in the recipe a line of train.py comes from; None where the builder wrote the line itself."""
        if self.places is None:
            return Place(file=self.member or self.train_py.name, line=line)
        return self.places[line - 1] if 0 < line <= len(self.places) else None

    def place_of(self, site: Site | None, script: str) -> Place | None:
        """The recipe place of a receipt's site, which is a line of the submission (`script`, as rooms call it,
        whatever its name outside) or already one of the recipe.
        """
        if site is None:
            return None
        if site.file == script:
            return self.place(site.line)
        return Place(file=site.file, line=site.line)


def _below(directory: Path) -> list[str]:
    """Every file of a directory, by its relative path; what Python itself keeps there is left out."""
    files = (path for path in directory.rglob("*") if path.is_file() or path.is_symlink())
    return sorted(path.relative_to(directory).as_posix() for path in files if "__pycache__" not in path.parts)


def _module(name: str) -> str:
    """The top-level module that a file of a submission is, or is in."""
    return PurePosixPath(name).parts[0].removesuffix(".py")


def _check_name(name: str, path: Path, profile: Profile) -> None:
    files = profile.files
    if not files.allows(name) or name == profile.launch.script:
        taken = ", ".join(file.name for file in files.submission)
        raise ArtifactError(f"{path}: contest {profile.name} takes no file {name}, it takes {taken}; leave it out")
    if _module(name) in {profile.kit.module, *profile.machine.packages, *sys.stdlib_module_names}:
        raise ArtifactError(f"{path}: it would be imported in the place of {_module(name)}; give it another name")


def _read_text(path: Path) -> str:
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):  # a pipe or a device might never end
            raise ArtifactError(f"{path}: no regular file; name the submission's file itself")
        if found.st_size > LARGEST:
            raise ArtifactError(f"{path}: {found.st_size:,} bytes; expected source text; name the submission's file")
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise ArtifactError(
            f"{path}: cannot be read ({error.strerror}); correct the name, or build the artifact again"
        ) from error
    except UnicodeDecodeError as error:
        raise ArtifactError(f"{path}: byte {error.start} is not UTF-8; save the file as UTF-8") from error


def _line_count(source: str) -> int:
    """Lines as Python counts them: form feeds and the like end none."""
    return source.count("\n") + (not source.endswith("\n") and source != "")


def _read_source(train_py: Path) -> tuple[str, str]:
    source = _read_text(train_py)
    return source, hashlib.sha256(train_py.read_bytes()).hexdigest()


def _read_json(path: Path, version_key: str, version: int) -> dict[str, Any]:
    text = _read_text(path)
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise ArtifactError(f"{path}:{error.lineno}: not JSON ({error.msg}); build the artifact again") from error
    if not isinstance(document, dict) or document.get(version_key) != version:
        found = document.get(version_key) if isinstance(document, dict) else type(document).__name__
        raise ArtifactError(f"{path}: {version_key} is {found}, expected {version}; build the artifact again")
    return document


def _read_map(path: Path) -> tuple[Place | None, ...]:
    """The recipe place of each line; None for lines that the builder wrote itself."""
    document = _read_json(path, "version", MAP_VERSION)
    sources, lines = document.get("sources"), document.get("lines")
    if not isinstance(sources, list) or not isinstance(lines, list):
        raise ArtifactError(f"{path}: expected lists named sources and lines; build the artifact again")
    places: list[Place | None] = []
    for number, entry in enumerate(lines, 1):
        if entry is None:
            places.append(None)
            continue
        try:
            source, line = entry
            places.append(Place(file=sources[source], line=line))
        except (TypeError, ValueError, IndexError) as error:
            raise ArtifactError(
                f"{path}: entry of line {number} is {entry!r}, expected [source index, line] or null; build again"
            ) from error
    return tuple(places)
