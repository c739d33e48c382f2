import sys
from dataclasses import dataclass

import yaml


@dataclass(frozen=True)
class Config:
    norm: str


def load_config(argv=None):
    with open((sys.argv[1:] if argv is None else argv)[0]) as file:
        return Config(**yaml.safe_load(file))
