from dataclasses import dataclass

import yaml


@dataclass(frozen=True)
class Config:
    norm: str
    depth: int
    use_bias: bool
    rate: float
    sizes: tuple[int, ...]
    label: str = "a 'b'"

    @property
    def double(self) -> int:
        return 2 * self.depth


def load_config(argv=None):
    import sys

    with open((sys.argv[1:] if argv is None else argv)[0]) as file:
        return Config(**yaml.safe_load(file))
