"""Reads what has changed by the time that it runs."""

import string

import torch

from . import inner
from .state import SEEN, see

FIRST: int = len(SEEN)
SECOND = FIRST + 1
TEXT = """two
  lines"""
PLAIN = 3
see("late")


class Layer(torch.nn.Module):
    """A class that needs what only this module imports."""

    def forward(self, x):
        return x + PLAIN, inner.NAME


@torch.no_grad()
def work():
    """Not moved: its docstring
    has two lines."""
    return FIRST, SECOND, TEXT, string.digits[:PLAIN], Layer().forward(1)


for FIRST_LETTER in "ab":
    see(FIRST_LETTER)
