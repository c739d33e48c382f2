"""Whether packages were imported, asked by the names that classes have."""

import numpy

from .backends import found


def main() -> None:
    print(found(), numpy.arange(2))


if __name__ == "__main__":
    main()
