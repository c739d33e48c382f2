import sys

from pkg.config import Config, load_config
from pkg.norms import make_norm


def doubled(value: int) -> int:
    return 2 * value


def main(config: Config):
    print(make_norm(config).name, doubled(3), doubled.__annotations__)


if __name__ == "__main__":
    main(load_config(sys.argv[1:]))
