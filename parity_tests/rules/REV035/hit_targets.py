"""Attributes of other modules as targets of loops and `with`, and by a setter that something else applies."""

from contextlib import nullcontext
from functools import partial

import torch

for torch.compile in [lambda function: function]:  # expect
    pass
with nullcontext(1) as torch.compile:  # expect
    pass
[0 for torch.compile in (1, 2)]  # expect
list(map(setattr, [torch], ["compile"], [None]))  # expect
partial(setattr, torch)("compile", None)  # expect
