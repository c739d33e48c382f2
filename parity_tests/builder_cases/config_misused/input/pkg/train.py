import sys
from dataclasses import asdict, replace

from .config import Config, load_config


class Model:
    def __init__(self, config: Config) -> None:
        self.config = config


def run(config: Config, name: str = "width") -> None:
    print(getattr(config, name), config, config.missing, config.odd, config.describe())
    config.width = 3
    helper(config)
    helper(**{"config": config})
    keep = [config]
    wider = replace(config, width=5)
    Model(wider)
    return config


def helper(config) -> None:
    print(config)


def fine(config: Config) -> None:
    print(asdict(config), helper)


def defaulted(config: Config = None) -> int:
    return config.width


def main(config: Config) -> None:
    Model(config)
    run(config)
    fine(config)
    defaulted(config)


def unreached(config: Config) -> None:
    print(vars(config))


if __name__ == "__main__":
    main(load_config(sys.argv[1:]))
