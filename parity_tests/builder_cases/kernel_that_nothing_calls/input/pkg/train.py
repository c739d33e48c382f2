import sys

import nki

from .config import Config, load_config


@nki.jit
def norm_forward(x):
    return x


@nki.jit
def norm_backward(x):
    return x


def main(config: Config) -> None:
    print(norm_backward(1) if config.norm == "nki" else norm_forward(2))


if __name__ == "__main__":
    main(load_config(sys.argv[1:]))
