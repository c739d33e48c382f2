# profile: trainium-frontier-phase1
from dataclasses import dataclass

RESERVE_SECONDS = 0.5  # expect


@dataclass
class Config:
    reserve: float = 2.0  # expect
