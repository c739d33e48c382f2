"""The ledger's file: one JSON record a line, only ever appended to, by any number of writers at once.

A writer holds a lock, writes its line at once and waits until the disk has it. What a machine that went down may leave
(an unfinished last line, NUL bytes) is told by line and never passed over: a lost upload would be counted as one left.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from scorer.ledger.records import Record, Score, Upload

_RECORD: TypeAdapter[Upload | Score] = TypeAdapter(Record)
_PATIENCE = 30.0  # seconds to wait for other writers, each of which needs milliseconds


class LedgerError(ValueError):
    """A ledger that cannot be read or added to; the message names file and line, what was found and what to do."""


def read(path: Path) -> list[Upload | Score]:
    """Every record, in the order of the file. Raises LedgerError for a line that is none, OSError for no file."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        with _locked(descriptor, path, fcntl.LOCK_SH):
            return _records(descriptor, path)
    finally:
        os.close(descriptor)


def append(path: Path, record: Upload | Score) -> list[Upload | Score]:
    """Add a record to a ledger that is whole, and return all of them; the first one makes the file.

    Raises LedgerError where the file holds anything but records, OSError where it cannot be written; it then is as it
    was before.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    line = json.dumps(record.model_dump(mode="json"), sort_keys=True, ensure_ascii=False).encode() + b"\n"
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        with _locked(descriptor, path, fcntl.LOCK_EX):
            earlier = _records(descriptor, path)
            _write(descriptor, path, line)
            if not earlier:
                _sync_directory(path.parent)
    finally:
        os.close(descriptor)
    return [*earlier, record]


@contextmanager
def _locked(descriptor: int, path: Path, kind: int) -> Iterator[None]:
    """Hold a lock on the file; LedgerError where somebody else keeps it for too long."""
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            if time.monotonic() > deadline:
                message = f"{path}: another process has held it for {_PATIENCE:g} s; end that one, and try again"
                raise LedgerError(message) from None
            time.sleep(0.005)
    try:
        yield
    finally:
        fcntl.flock(descriptor, fcntl.LOCK_UN)


def _records(descriptor: int, path: Path) -> list[Upload | Score]:
    size = os.fstat(descriptor).st_size
    content = bytearray()
    while len(content) < size and (part := os.pread(descriptor, size - len(content), len(content))):
        content += part
    lines = bytes(content).split(b"\n")
    tail = lines.pop()
    records = [_record(line, path, number) for number, line in enumerate(lines, 1)]
    if tail:
        raise LedgerError(
            f"{path}:{len(lines) + 1}: the last line ends in its middle, at {_shown(tail)} (a writer was cut short): "
            "remove the line, and record the upload again if it was made"
        )
    return records


def _record(line: bytes, path: Path, number: int) -> Upload | Score:
    if b"\0" in line:
        raise LedgerError(
            f"{path}:{number}: {line.count(0)} NUL bytes (a machine went down while it wrote): remove them, or the "
            "line, and record the upload again that it held"
        )
    try:
        return _RECORD.validate_json(line)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "line"
        raise LedgerError(
            f"{path}:{number}: no record of an upload: {where}: {first['msg']}, found {_shown(line)}; restore the line "
            "as it was written, or remove it"
        ) from error


def _shown(line: bytes) -> str:
    return repr(line[:40].decode("utf-8", "backslashreplace")) + ("..." if len(line) > 40 else "")


def _write(descriptor: int, path: Path, line: bytes) -> None:
    """Write one line whole, down to the disk, or leave the file as it was."""
    before = os.fstat(descriptor).st_size
    try:
        written = os.write(descriptor, line)
        if written < len(line):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        os.fsync(descriptor)
    except OSError as error:
        os.ftruncate(descriptor, before)
        raise OSError(error.errno, error.strerror, str(path)) from error


def _sync_directory(directory: Path) -> None:
    """Make a file that is new outlast a crash: its name is the directory's content."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
