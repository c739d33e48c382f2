from dataclasses import dataclass

import yaml


@dataclass(frozen=True)
class Config:
    width: int
    norm: str
    heads: int = 2

    def __post_init__(self) -> None:
        if self.width % self.heads:
            raise ValueError(f"width {self.width} is not a multiple of {self.heads}")
        assert self.norm in ("nki", "torch"), self.norm


def load_config(argv=None):
    import sys

    with open((sys.argv[1:] if argv is None else argv)[0]) as file:
        return Config(**yaml.safe_load(file))
