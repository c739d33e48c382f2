from .config import Config


class Base:
    def __init__(self, config: Config, extra: int = 0) -> None:
        self.width = config.width + extra


class Layer(Base):
    def __init__(
        self,
        name: str,
        config: Config,  # the knobs
    ) -> None:
        super().__init__(config, extra=1)
        self.name = name
        self.more = self.helper(3, config)

    def helper(self, x: int, config: "Config") -> int:
        return x * config.width

    @staticmethod
    def plain(config: Config) -> float:
        return config.scale ** 2


class Child(Layer):
    pass


def positional(config: Config, /, x: int) -> int:
    return config.width + x


def keyword(x: int, *, config: Config) -> int:
    return config.width - x


def last(x: int = 1, *rest: int, config: Config, **more: int) -> tuple[object, ...]:
    return x, rest, more, config.scale


def alone(
    config: Config,
) -> float:
    return 2 - config.scale
