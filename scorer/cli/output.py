"""Output directories that appear whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Self

from scorer.report import FILES

OURS = {*FILES, "lanes", "receipt.json", "log.txt", "out"} | {
    f"{name}.{ending}" for name in ("trial", "kernels", "profile") for ending in ("json", "html")
}
"""Top-level names that the commands write: a directory that holds no other may be replaced."""


class OutputError(ValueError):
    """An output path that must not be written to; the message names it and says what to do."""


class OutputDirectory:
    """Collects a run's files in `staging` and puts them in place of `target` at once by `commit()`.

    Leaving the `with` block without a commit, by whatever way, leaves `target` as it was. Raises OutputError for a
    target that holds files of somebody else's, and for one that cannot be made.
    """

    def __init__(self, target: Path) -> None:
        self.target = target.resolve()
        if self.target.is_dir():
            foreign = sorted({path.name for path in self.target.iterdir()} - OURS)[:1]
        else:
            foreign = [self.target.name] if self.target.exists() else []
        if foreign:
            raise OutputError(
                f"{target}: is or holds something that is no result of this command ({foreign[0]}); "
                "name another place with -o"
            )
        self.staging = self.target

    def __enter__(self) -> Self:
        try:
            self.target.parent.mkdir(parents=True, exist_ok=True)
            self.staging = Path(tempfile.mkdtemp(prefix=f".{self.target.name}.", dir=self.target.parent))
        except OSError as error:
            raise OutputError(
                f"{self.target}: cannot be made ({error.strerror}); name another place with -o"
            ) from error
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
