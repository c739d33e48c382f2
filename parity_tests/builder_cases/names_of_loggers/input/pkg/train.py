"""A logger's name is only a name, and `__name__` stays what it was in the package."""
import logging
import sys

from .model import build

log = logging.getLogger("pkg.model")
log.addHandler(logging.StreamHandler(sys.stdout))


def main():
    build()


if __name__ == "__main__":
    main()
