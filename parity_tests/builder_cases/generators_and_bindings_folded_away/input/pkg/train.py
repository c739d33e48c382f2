import sys

from .config import Config, load_config


def numbers(config: Config):
    if config.flag:
        yield 1


def unbound(config: Config):
    if config.flag:
        value = 1
    return value


def main(config: Config) -> None:
    print(list(numbers(config)), unbound(config))


if __name__ == "__main__":
    main(load_config(sys.argv[1:]))
