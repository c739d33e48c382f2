"""Directories without __init__.py are packages too, the entry's own included."""

import pkg.sub.deep.b
from pkg.sub.deep import b as two

from .sub import a
from .sub.a import ONE


def main():
    print(ONE, a.ONE, two.TWO, pkg.sub.deep.b.TWO)


if __name__ == "__main__":
    main()
