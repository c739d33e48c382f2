"""Modules that Python runs where a function or a block imports them, and not before.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""

import string
import sys
from functools import cache


# ==== pkg/state.py ====

SEEN = []


def see(x):
    SEEN.append(x)
    return x


# ==== pkg/chosen.py ====


@cache
def import_chosen():
    """What pkg/chosen.py does when it is first imported."""

    see("chosen")


CHOICE = "chosen"


# ==== pkg/train.py ====

if sys.maxsize > 0:
    import_chosen()
    TRAIN_CHOICE = CHOICE

import_chosen()


def first():
    import_late()

    return work()


def second():
    import_late()
    import_inner()

    return SECOND, NAME


def fail():
    try:
        import_broken()
    except ImportError as error:
        return str(error)


class Late:
    import_chosen()
    choice = CHOICE


def main():
    print(TRAIN_CHOICE, CHOICE, SEEN, Late.choice)
    see("main")
    print(first(), SEEN)
    see("more")
    print(second(), SEEN)
    print(fail(), fail(), SEEN)


# ==== pkg/broken.py ====


@cache
def import_broken():
    """What pkg/broken.py does when it is first imported."""

    see("broken")
    if len("ab") == 2:
        raise ImportError("always")


# ==== pkg/late.py ====
# Reads what has changed by the time that it runs.

TEXT = """two
  lines"""
PLAIN = 3


@cache
def import_late():
    """What pkg/late.py does when it is first imported."""
    global torch, FIRST, SECOND, Layer, work, FIRST_LETTER
    import torch

    import_inner()

    FIRST = len(SEEN)
    SECOND = FIRST + 1
    see("late")


    class Layer(torch.nn.Module):
        """A class that needs what only this module imports."""

        def forward(self, x):
            return x + PLAIN, NAME


    @torch.no_grad()
    def work():
        """Not moved: its docstring
    has two lines."""
        return FIRST, SECOND, TEXT, string.digits[:PLAIN], Layer().forward(1)


    for FIRST_LETTER in "ab":
        see(FIRST_LETTER)


# ==== pkg/inner.py ====


@cache
def import_inner():
    """What pkg/inner.py does when it is first imported."""
    global NAME

    NAME = see("inner")


# ==== pkg/train.py (continued) ====

if __name__ == "__main__":
    main()
