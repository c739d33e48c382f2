"""Standard input where it has no place of its own: a `with` item, a comprehension, a default."""

import sys

with sys.stdin as file:  # expect
    text = file.read()
lines = [line for line in sys.stdin]  # expect


def read(file=sys.stdin):  # expect
    return file.read()
