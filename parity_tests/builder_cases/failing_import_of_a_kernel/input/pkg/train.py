"""Which kernels run is not left to a warning; and a warning that comes behind other code may not come."""

import warnings

import nki
import numpy


def fast() -> str:
    try:
        from nki import something
    except ImportError:
        warnings.warn("no kernel", stacklevel=2)
        return "slow"
    return something()


def other() -> str:
    try:
        from numpy import something
    except ImportError:
        if numpy.__version__:
            warnings.warn("no name", stacklevel=2)
        return "slow"
    return something()


def third() -> str:
    try:
        import torch
    except ImportError:
        print("no torch")
        torch = None
    return torch


def main() -> None:
    print(fast(), other(), third(), nki)


if __name__ == "__main__":
    main()
