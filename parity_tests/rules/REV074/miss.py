import dataclasses


@dataclasses.dataclass(frozen=True)
class Config:
    depth: int

    def __post_init__(self):
        object.__setattr__(self, "depth", 3)
        self.__dict__.update(width=1)


class Settings:
    def __init__(self, **values):
        self.__dict__.update(values)
        vars(self).update(values)

    def restore(self, state):
        self.__dict__ = state


config = Config(1)
type(config).made = 1
copied = dict(config.__dict__)
depth = config.__dict__["depth"]
values = {**vars(config)}
kind = config.__class__
