import math

import torch

DTYPES = ("bfloat16", "float32")
kinds = [getattr(torch, name) for name in DTYPES]
log = getattr(math, "lo" + "g2")


def dtype(name):
    return getattr(torch, name)


first = dtype("float32")


class Config:
    depth = 3


def value(config, name):
    return getattr(config, name)


x = value(Config, "depth")
