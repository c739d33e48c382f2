# profile: trainium-frontier-phase1
from dataclasses import dataclass

RESERVE_SECONDS = 10.0
RESERVED_ROWS = 1


@dataclass
class Config:
    reserve_seconds: float = 5.0
