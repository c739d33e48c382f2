import sys

from .config import Config, load_config


def copy(config: Config) -> Config:
    return Config(width=config.width)


def main(config: Config) -> None:
    print(copy(config), isinstance(1, Config), load_config)


if __name__ == "__main__":
    main(load_config(sys.argv[1:]))
