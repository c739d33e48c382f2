import copy
import dataclasses
import sys

from .config import Config, load_config


def replaced(config: Config):
    config = dataclasses.replace(config, norm="torch")
    return config.norm


def copied(config: Config):
    config = copy.copy(config)
    return config.norm


def looped(config: Config, configs):
    for config in configs:
        print(config.norm)


def other():
    config = load_config(["--config", "other"])
    return config.norm


def same():
    config = load_config(sys.argv[1:])
    return config.norm


def main(config: Config):
    print(replaced(config), copied(config), looped(config, []), other(), same())


if __name__ == "__main__":
    main(load_config([*sys.argv[1:], "--norm", "torch"]))
