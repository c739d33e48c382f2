"""Writing an artifact directory: all of its files or none, and never a mixture of two builds."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from pathlib import Path

from builder.errors import BuildError, refuse

NAMES = ("train.py", "train.py.map", "launch-command.txt", "manifest.json")
TAKEN = (errno.EEXIST, errno.ENOTEMPTY)  # what renaming a directory to one that has files says


def write_directory(directory: Path, files: dict[str, bytes]) -> None:
    """Write `files` as the whole content of `directory`, by renaming a finished sibling into its place.

    A directory that holds anything but an artifact is refused, for its files would be lost. Of several builds that
    write into one directory at once, the last one stands, whole. Where a build is killed, the directory is the old one,
    the new one, or (between two renames) still beside its place as `.NAME.*.old`.
    """
    directory = (Path.cwd() / directory).resolve()  # of a link, where it leads
    _check(directory, directory.name)
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        room = Path(tempfile.mkdtemp(dir=directory.parent, prefix=f".{directory.name}."))
    except OSError as error:
        raise _unwritable(directory, error) from error
    old = room.with_name(room.name + ".old")
    try:
        for name, content in files.items():
            with (room / name).open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        room.chmod(0o777 & ~umask)  # mkdtemp makes 0700
        while not _swap(room, directory, old):
            shutil.rmtree(old, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)
    except OSError as error:
        raise _unwritable(directory, error) from error
    finally:
        if not directory.exists() and old.exists():  # stopped between the two renames
            old.rename(directory)
        shutil.rmtree(room, ignore_errors=True)


def _swap(room: Path, directory: Path, old: Path) -> bool:
    """Put the finished directory into its place; False when another build came between."""
    try:
        directory.rename(old)
        _check(old, directory.name)
    except FileNotFoundError:
        pass  # the first build into it, or another one is between its two renames
    try:
        room.rename(directory)
    except OSError as error:
        if error.errno in TAKEN:
            return False
        raise
    return True


def _check(directory: Path, name: str) -> None:
    """Refuse a directory that an earlier build did not make."""
    try:
        before: list[str] | None = None
        present = sorted(path.name for path in directory.iterdir())
        while present != before and len(present) != len(NAMES):  # another build may just replace it
            before, present = present, sorted(path.name for path in directory.iterdir())
    except FileNotFoundError:
        return
    except NotADirectoryError:
        raise _refused(name, "is a file") from None
    except OSError as error:
        raise _unwritable(directory, error) from error
    foreign = [found for found in present if found not in NAMES]
    if foreign:
        raise _refused(name, f"holds {foreign[0]!r}")
    if present and len(present) < len(NAMES):  # somebody's own train.py
        raise _refused(name, f"holds {present[0]!r}, which no build made")


def _refused(name: str, what: str) -> BuildError:
    remedy = "name a new directory, or one that an earlier build made"
    return refuse("BLD002", name, 0, f"the output directory {what}", remedy)


def _unwritable(directory: Path, error: OSError) -> BuildError:
    return refuse(
        "BLD002",
        directory.name,
        0,
        f"the output directory cannot be written: {error.strerror}",
        "free the disk or name another directory",
    )
