import sys

from . import config as knobs
from . import model
from .config import load_config
from .model import Child, alone, keyword, last, positional


def main(config: knobs.Config) -> None:
    """Run."""
    same = config

    def inner(x: int, config: knobs.Config) -> int:
        return x + config.width + same.width

    layer = Child("n", config)
    print(layer.width, layer.name, layer.more, layer.plain((config)))
    print(positional(config, 1), keyword(1, config=config), last(1, 2, config=config, z=3), alone(config), inner(1, same))
    print([model.Child("m", c).more for c in [1] for c in [2]] if config.width > 100 else model.alone(config))


def other() -> None:
    config = load_config()
    print(config.width)


if __name__ == "__main__":
    main(load_config(sys.argv[1:]))
