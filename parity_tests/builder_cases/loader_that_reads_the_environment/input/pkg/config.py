import os
from dataclasses import dataclass
import yaml


@dataclass(frozen=True)
class Config:
    width: int = 8


def load_config(argv=None):
    import sys

    with open((sys.argv[1:] if argv is None else argv)[0]) as file:
        d = yaml.safe_load(file) or {}
    if "WIDTH" in os.environ:
        d["width"] = int(os.environ["WIDTH"])
    return Config(**d)
