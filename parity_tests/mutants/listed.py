"""`equivalent.yaml`: changes that no run of this configuration can show, each with the reason."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict

from parity_tests.mutants.places import Mutant

FILE = Path(__file__).parent / "equivalent.yaml"


class Equivalent(BaseModel):
    """One entry: changes of lines of one file. Without `after`: every change of them by these mutators."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    file: str
    mutators: tuple[str, ...]
    before: tuple[str, ...]
    after: str | None = None
    reason: str

    def is_of(self, mutant: Mutant) -> bool:
        """Whether this entry speaks of a mutant."""
        named = self.file == mutant.file and mutant.mutator in self.mutators and mutant.before in self.before
        return named and self.after in (None, mutant.after)


@cache
def entries() -> tuple[Equivalent, ...]:
    """All of them, in the file's order."""
    return tuple(Equivalent.model_validate(one) for one in yaml.safe_load(FILE.read_text("utf-8")))


def reason(mutant: Mutant) -> str | None:
    """Why a mutant is equivalent, where that is known."""
    return next((one.reason for one in entries() if one.is_of(mutant)), None)
