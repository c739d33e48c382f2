"""`equivalent.yaml`: changes that no run of this configuration can show, each with the reason."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict

from parity_tests.mutants.places import Mutant

FILE = Path(__file__).parent / "equivalent.yaml"


class Equivalent(BaseModel):
    """One entry: a change of one line of one file by one mutator. Without `after`: every such change of that line."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    file: str
    mutator: str
    before: str
    after: str | None = None
    reason: str

    def is_of(self, mutant: Mutant) -> bool:
        """Whether this entry speaks of a mutant."""
        same = (self.file, self.mutator, self.before) == (mutant.file, mutant.mutator, mutant.before)
        return same and self.after in (None, mutant.after)


@cache
def entries() -> tuple[Equivalent, ...]:
    """All of them, in the file's order."""
    return tuple(Equivalent.model_validate(one) for one in yaml.safe_load(FILE.read_text("utf-8")))


def reason(mutant: Mutant) -> str | None:
    """Why a mutant is equivalent, where that is known."""
    return next((one.reason for one in entries() if one.is_of(mutant)), None)
