import sys
from .config import Config, load_config


def main(config: Config) -> None:
    print(config.a, repr(config.b), config.c, config.d, repr(config.e), config.a > 500)


if __name__ == "__main__":
    main(load_config(sys.argv[1:]))
