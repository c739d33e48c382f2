from dataclasses import dataclass


@dataclass(frozen=True)
class Config:
    width: int = 4


def load_config(argv=None):
    return Config()
