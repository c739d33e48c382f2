"""A logger's name is only a name, and `__name__` stays what it was in the package.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""

import logging
import sys


# ==== pkg/model.py ====

logger = logging.getLogger("pkg.model")


def build():
    logger.warning("built by %s", "pkg.model")


# ==== pkg/train.py ====

log = logging.getLogger("pkg.model")
log.addHandler(logging.StreamHandler(sys.stdout))


def main():
    build()


if __name__ == "__main__":
    main()
