import sys

from .config import Config, load_config


def main(config: Config) -> None:
    if config.use_flash:
        print("flash")
    else:
        print("slow")


if __name__ == "__main__":
    main(load_config(sys.argv[1:]))
