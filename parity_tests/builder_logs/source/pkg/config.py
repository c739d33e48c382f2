from dataclasses import dataclass


@dataclass(frozen=True)
class Config:
    width: int = 4
    strict: bool = True


def load_config(argv=None):
    return Config()
