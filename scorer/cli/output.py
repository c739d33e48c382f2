"""Output directories that appear whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Self

OURS = ("verdict.json", "receipt.json")
"""A directory that holds one of these was written by an earlier run, and may be replaced."""


class OutputError(ValueError):
    """An output path that must not be written to; the message names it and says what to do."""


class OutputDirectory:
    """Collects a run's files in `staging` and puts them in place of `target` at once by `commit()`.

    Leaving the `with` block without a commit, by whatever way, leaves `target` as it was. Raises OutputError for a
    target that holds files of somebody else's.
    """

    def __init__(self, target: Path) -> None:
        self.target = target.resolve()
        if self.target.is_dir():
            foreign = any(self.target.iterdir()) and not any((self.target / name).is_file() for name in OURS)
        else:
            foreign = self.target.exists()
        if foreign:
            raise OutputError(
                f"{target}: exists and holds no earlier result of this command; name another place with -o"
            )
        self.staging = self.target

    def __enter__(self) -> Self:
        self.target.parent.mkdir(parents=True, exist_ok=True)
        self.staging = Path(tempfile.mkdtemp(prefix=f".{self.target.name}.", dir=self.target.parent))
        umask = os.umask(0)
        os.umask(umask)
        self.staging.chmod(0o777 & ~umask)  # mkdtemp makes 0700
        return self

    def commit(self) -> None:
        """Replace the target by what was collected."""
        if self.target.exists():
            old = Path(tempfile.mkdtemp(prefix=f".{self.target.name}.", dir=self.target.parent))
            self.target.replace(old / "old")
            self.staging.replace(self.target)
            shutil.rmtree(old)
        else:
            self.staging.replace(self.target)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        shutil.rmtree(self.staging, ignore_errors=True)
