"""Checks of which files a program writes, and of the numbers under which files are open."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from scorer.artifact import Artifact
from scorer.contest import Profile
from scorer.rules.paths import TEMPORARY, openings, outside
from scorer.rules.source import Hit, Source
from scorer.rules.texts import HOLE

DESCRIPTORS = {
    *("os.write", "os.writev", "os.pwrite", "os.pwritev", "os.sendfile", "os.fdopen", "os.dup", "os.dup2", "os.pipe"),
    *("os.pipe2", "os.splice", "os.closerange", "os.ftruncate", "os.memfd_create", "os.eventfd", "os.read", "os.pread"),
    *(
        "os.set_inheritable",
        "os.openpty",
        "os.copy_file_range",
    ),
}


# Open files, memory and shared memory by a path.
OPEN_FILES = re.compile(r"^(/proc/[^/]+/(task/[^/]+/)?(fd|mem|maps|map_files|root|cwd)|/dev/(fd|shm|mem|std...?))\b")


def outside_writes(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """Files written, moved or deleted at places that, as far as they are known, are not below the output directory."""
    output = profile.files.output_directory
    for full in sorted(TEMPORARY & source.named.keys()):
        for node in source.named[full]:
            call = source.parent(node)
            if isinstance(call, ast.Call) and not any(keyword.arg == "dir" for keyword in call.keywords):
                yield source.hit(call, PATH="the system's temporary directory", OUTPUT=output)
    for opening, paths in openings(source):
        bad = [
            text
            for path, writes in paths
            if writes and not (isinstance(path, ast.Constant) and isinstance(path.value, int))
            for text in source.texts(path)
            if outside(text, output) and not OPEN_FILES.match(text)
        ]
        if bad:
            yield source.hit(opening, PATH=bad[0].replace(HOLE, "..."), OUTPUT=output)


def descriptors(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """Work on file descriptors by their numbers; those that `os.open` gives are followed, no others are known."""
    own = "os.open" in source.named
    for full in sorted(DESCRIPTORS & source.named.keys()):
        for node in source.named[full]:
            parent = source.parent(node)
            call = parent if isinstance(parent, ast.Call) and parent.func is node else None
            number = call.args[0] if call is not None and call.args else None
            if own and number is not None and _from_open(source, number):
                continue
            yield source.hit(call or node)
    for opening, paths in openings(source):
        numbers = any(isinstance(path, ast.Constant) and isinstance(path.value, int) for path, _ in paths)
        if numbers or any(OPEN_FILES.match(text) for path, _ in paths for text in source.texts(path)):
            yield source.hit(opening)


def _from_open(source: Source, number: ast.expr) -> bool:
    """Whether a descriptor comes from a call of `os.open` in this file, whose path has rules of its own."""
    if isinstance(number, ast.Call):
        return source.resolve(number.func) == "os.open"
    if not isinstance(number, ast.Name):
        return False
    looked_up = source.scopes.scope(number).look_up(number.id)
    values = [binding.node for binding in looked_up[1]] if looked_up else []
    return bool(values) and all(
        isinstance(value, ast.Call) and source.resolve(value.func) == "os.open" for value in values
    )
