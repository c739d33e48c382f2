"""Methods that a loop replaces, by names and functions side by side."""

import torch


def norm(x):
    return x / x.norm()


def scale(x):
    return x * 2


class Block(torch.nn.Module):
    def norm(self, x):
        return x

    def scale(self, x):
        return x


PATCHES = {"norm": norm, "scale": scale}
for name, run in PATCHES.items():
    setattr(Block, name, run)  # expect
for name, run in zip(("norm", "scale"), (norm, scale), strict=True):
    setattr(Block, name, run)  # expect
for place, run in enumerate([norm, scale]):
    Block.norm = run  # expect
