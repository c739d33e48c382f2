"""Everything that is wrong is told at once, by file and line."""
import os

import nowhere

from . import ops
from .absent import missing


def main():
    print(missing, nowhere, os.environ["WIDTH"], ops.WIDHT)
    ops.WIDTH = 2


if __name__ == "__main__":
    main()
