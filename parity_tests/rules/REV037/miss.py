from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True)
class Config:
    depth: int


class Other(NamedTuple):
    depth: "int"
