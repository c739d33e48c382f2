"""Names that may be of the recipe, of the standard library, or anything."""

import sys


class Ours:
    ours = "pkg.backends"
    standard = "json"
    given = "numpy"
    written = "numpy"
    unused = "torch"


def found(value: Ours) -> list[bool]:
    written = value.written in sys.modules
    return [value.ours in sys.modules, value.standard in sys.modules, value.given in sys.modules, written]


def at_import() -> bool:
    return Ours.unused in sys.modules


known = Ours().written not in sys.modules
