"""Modules that Python runs where a function or a block imports them, and not before."""

import sys

if sys.maxsize > 0:
    from .chosen import CHOICE

from .chosen import CHOICE as AGAIN
from .state import SEEN, see


def first():
    from .late import work

    return work()


def second():
    import pkg.late as l
    from . import inner

    return l.SECOND, inner.NAME


def fail():
    try:
        from . import broken
    except ImportError as error:
        return str(error)


class Late:
    from .chosen import CHOICE as choice


def main():
    print(CHOICE, AGAIN, SEEN, Late.choice)
    see("main")
    print(first(), SEEN)
    see("more")
    print(second(), SEEN)
    print(fail(), fail(), SEEN)


if __name__ == "__main__":
    main()
