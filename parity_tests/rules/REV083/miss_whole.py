from dataclasses import asdict, dataclass


@dataclass
class Config:
    depth: int = 4


def build(config, model):
    return model(**asdict(config))
