"""An import of a name that a package may lack, and that is told when it fails."""

import warnings

import numpy


def fast() -> str:
    try:
        from numpy import something_that_no_version_has
    except ImportError:
        warnings.warn("numpy has nothing fast", stacklevel=2)
        return "slow"
    return something_that_no_version_has()


def main() -> None:
    print(fast(), numpy.arange(2))


if __name__ == "__main__":
    main()
