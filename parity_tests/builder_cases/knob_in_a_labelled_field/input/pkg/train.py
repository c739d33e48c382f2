"""`{expression=}` shows its own text: a frozen value cannot stand there, nor a name that changes."""
from . import a, b
from .config import Config, load_config


def main(config: Config):
    print(f"{config.width=}", f"{a.norm=}", f"{b.norm=}")


if __name__ == "__main__":
    main(load_config())
