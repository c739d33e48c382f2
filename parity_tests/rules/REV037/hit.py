from __future__ import annotations

import dataclasses
from dataclasses import dataclass as record


@record(frozen=True)
class Config:  # expect
    depth: int


@dataclasses.dataclass
class Other:  # expect
    depth: int
