"""A program that fails in known places."""

import sys

from .config import Config, load_config
from .model import both, layers


def main(config: Config) -> None:
    """Fail."""
    print("starting", file=sys.stderr)
    if sys.flags.dev_mode:
        both(config)
    layers(
        1,
        config,
    )


if __name__ == "__main__":
    main(load_config())
