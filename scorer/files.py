"""Writing files so that no reader ever sees half of one."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import tempfile
from pathlib import Path


def write_atomic(path: Path, content: str | bytes) -> None:
    """Write `content` beside `path` and rename it into place; on any failure the old file stays as it was.

    Raises OSError that names `path`: a full disk names no file by itself.
    """
    data = content.encode() if isinstance(content, str) else content
    temporary = path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        temporary = Path(name)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)  # mkstemp makes 0600
        temporary.replace(path)
    except BaseException as error:
        if temporary is not path:
            with contextlib.suppress(FileNotFoundError):
                temporary.unlink()
        if isinstance(error, OSError):
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise


def ensure_writable(path: Path) -> None:
    """Raise, before long work and not after it, the OSError of a `path` at which `write_atomic` could write nothing."""
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    nearest = next(parent for parent in path.absolute().parents if parent.exists())
    try:
        with tempfile.NamedTemporaryFile(dir=nearest):
            pass
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error


def sha256_file(path: Path) -> str:
    """SHA-256 of a file's bytes, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sha256_tree(root: Path, patterns: tuple[str, ...] = ("**/*.py", "**/*.yaml")) -> str:
    """SHA-256 over the sorted relative paths and contents of a source tree."""
    digest = hashlib.sha256()
    for path in sorted({p for pattern in patterns for p in root.glob(pattern) if p.is_file()}):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + sha256_file(path).encode() + b"\n")
    return digest.hexdigest()
