"""Atomic writes: whole or not at all, and an error that names the file."""

import errno
import os
from pathlib import Path

import pytest

from scorer.files import ensure_writable, write_atomic


def test_a_write_replaces_the_file_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "receipt.json"
    write_atomic(path, "old")
    write_atomic(path, "é")
    assert path.read_bytes() == "é".encode()
    assert [p.name for p in path.parent.iterdir()] == ["receipt.json"]


def test_a_full_disk_keeps_the_old_file_and_is_told_with_its_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "receipt.json"
    write_atomic(path, "old")

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=f"No space left on device: '{path}'"):
        write_atomic(path, "new")
    assert path.read_text("utf-8") == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["receipt.json"]


def test_a_place_that_cannot_be_written_is_told_before_anything_is_made(tmp_path: Path) -> None:
    ensure_writable(tmp_path / "deep" / "receipt.json")
    assert not list(tmp_path.iterdir())
    for path in (tmp_path, Path("/proc/none/receipt.json")):
        with pytest.raises(OSError, match=f"'{path}'"):
            ensure_writable(path)
