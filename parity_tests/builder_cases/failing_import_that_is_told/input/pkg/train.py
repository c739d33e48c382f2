"""An import of a name that a package may lack, and that is told when it fails."""

import numpy


def fast() -> str:
    try:
        from numpy import something_that_no_version_has
    except ImportError:
        print("numpy has nothing fast")
        return "slow"
    return something_that_no_version_has()


def main() -> None:
    print(fast(), numpy.arange(2))


if __name__ == "__main__":
    main()
