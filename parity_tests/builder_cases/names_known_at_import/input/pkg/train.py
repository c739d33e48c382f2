"""Names read as a dictionary at import time, where what they say is known."""

from .base import _hidden, elements
from .more import *

if "pair" not in globals():
    pair = None
if "alias" not in globals():
    alias = first
elif "first" in vars():
    alias = second


def main() -> None:
    print([element.name for element in elements])
    print([element.name for element in names], pair.name, alias.name, _hidden.name)


if __name__ == "__main__":
    main()
