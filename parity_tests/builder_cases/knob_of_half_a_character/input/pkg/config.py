from dataclasses import dataclass
import yaml


@dataclass(frozen=True)
class Config:
    a: int = 8
    b: str = "x"
    c: float = 1.0
    d: bool = False
    e: str = ""


def load_config(argv=None):
    import sys

    with open((sys.argv[1:] if argv is None else argv)[0]) as file:
        return Config(**yaml.safe_load(file))
