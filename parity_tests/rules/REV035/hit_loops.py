"""Modules and functions side by side in a loop."""

import math
import time


def still(*_):
    return 0.0


for module, name in zip((math, time), ("log", "time"), strict=True):
    setattr(module, name, still)  # expect
for _, (module, name) in enumerate([(math, "exp"), (time, "monotonic")]):
    setattr(module, name, still)  # expect
for module in reversed([math, time]):
    module.pi = 3  # expect
