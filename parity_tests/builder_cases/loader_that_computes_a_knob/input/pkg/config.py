from dataclasses import dataclass
import yaml


@dataclass(frozen=True)
class Config:
    width: int = 8
    lr: float = 0.1


def load_config(argv=None):
    import sys

    with open((sys.argv[1:] if argv is None else argv)[0]) as file:
        d = yaml.safe_load(file)
    d["lr"] = d.get("lr", 0.1) * d["width"] / 8
    return Config(**d)
