from dataclasses import dataclass
from typing import Literal

import yaml


@dataclass(frozen=True)
class Config:
    width: int
    heights: int
    depth: int
    rate: float
    kind: Literal["a", "b"]
    sizes: tuple[int, int]
    ratio: float


def load_config(argv=None):
    import sys

    with open((sys.argv[1:] if argv is None else argv)[0]) as file:
        return Config(**yaml.safe_load(file))
