"""Writing an artifact directory: all of its files or none, and never a mixture of two builds."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from pathlib import Path

from builder.errors import refuse

NAMES = ("train.py", "train.py.map", "launch-command.txt", "manifest.json")


def write_directory(directory: Path, files: dict[str, bytes]) -> None:
    """Write `files` as the whole content of `directory`, by renaming a finished sibling into its place.

    A directory that holds anything else is refused, for its other files would be lost.
    """
    directory = Path.cwd() / directory
    foreign = sorted(p.name for p in directory.iterdir() if p.name not in NAMES) if directory.is_dir() else []
    if foreign or (directory.exists() and not directory.is_dir()):
        what = f"holds {foreign[0]!r}" if foreign else "is a file"
        raise refuse(
            "BLD002",
            directory.name,
            0,
            f"the output directory {what}",
            "name a new directory, or one that an earlier build made",
        )
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        staged = Path(tempfile.mkdtemp(dir=directory.parent, prefix=f".{directory.name}."))
    except OSError as error:
        raise _unwritable(directory, error) from error
    old = staged.with_name(staged.name + ".old")
    try:
        for name, content in files.items():
            with (staged / name).open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        staged.chmod(0o777 & ~umask)  # mkdtemp makes 0700
        if directory.exists():
            directory.rename(old)
        try:
            staged.rename(directory)
        except OSError:
            if old.exists():
                old.rename(directory)
            raise
    except OSError as error:
        raise _unwritable(directory, error) from error
    finally:
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(staged)
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(old)


def _unwritable(directory: Path, error: OSError) -> Exception:
    return refuse(
        "BLD002",
        directory.name,
        0,
        f"the output directory cannot be written: {error.strerror}",
        "free the disk or name another directory",
    )
