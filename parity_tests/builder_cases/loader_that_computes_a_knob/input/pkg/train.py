import sys
from .config import Config, load_config


def main(config: Config) -> None:
    print(config.width, config.lr)


if __name__ == "__main__":
    main(load_config(sys.argv[1:]))
