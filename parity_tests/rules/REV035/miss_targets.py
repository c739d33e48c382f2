"""Targets that are the program's own."""

from functools import partial

import torch


class Holder:
    value = 0


holder = Holder()
for holder.value in range(3):
    print(holder.value)
with torch.no_grad() as holder.guard:
    print([value for value in (1, 2)])
partial(setattr, holder)("value", 1)
