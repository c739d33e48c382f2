"""How far two logits that should be equal may be apart, from the dtype that the model computes in.

    same input, same shape      nothing: the bits must be equal
    other content, same shape   unit x largest |log p|: the same instructions ran over the compared rows
    another shape               root mean square unit x that of all log p, largest 16 unit x largest |log p|:
                                a matrix product may be cut into other blocks and add up in another order
    gradients enabled           as for another shape: torch may choose another kernel for the same operation

`unit` is the rounding of one operation, 2^-8 in bfloat16 and 2^-11 in float16; in float32, where rounding is below the
order of summation, 64 roundings (2^-17). It is that of the coarsest dtype among parameters, buffers and logits; where
products may add up in another order, among activations too, since a sum at the border of two values of their dtype then
rounds to the other one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

import torch

UNITS = {"bfloat16": 2.0**-8, "float16": 2.0**-11, "float32": 2.0**-17}
LARGEST_FACTOR = 16
LEAST = -64.0  # e^-64 adds nothing to a probability in fp32


class Change(Enum):
    """What differs between two runs whose logits are compared."""

    NOTHING = "nothing"
    CONTENT = "content"
    SHAPE = "shape"
    GRADIENTS = "gradients"


def unit(dtypes: Iterable[str]) -> float:
    """The rounding of the coarsest of these dtypes; one that is not listed loosens nothing."""
    return max((UNITS.get(name, 0.0) for name in dtypes), default=0.0) or UNITS["float32"]


@dataclass(frozen=True)
class Difference:
    """How far apart two logits (or other quantities) are, and whether that is too far."""

    largest: float
    allowed: float
    exceeded: bool
    position: tuple[int, ...]  # of the largest difference, in the compared tensor
    dtypes: tuple[str, ...]  # from which `allowed` follows
    unit: str = "logit"

    def __str__(self) -> str:
        return f"largest change {self.largest:.3g}, allowed {self.allowed:.3g}"


def scored(logits: torch.Tensor) -> torch.Tensor:
    """What a score depends on: logarithms of probabilities, those below LEAST alike.

    Logits that are all moved, and tokens that are masked, leave them as they are: neither loosens what is allowed.
    """
    return torch.log_softmax(logits, -1).clamp(min=LEAST)


def compare(expected: torch.Tensor, found: torch.Tensor, change: Change, dtypes: Iterable[str]) -> Difference:
    """Compare two equally shaped, finite fp32 tensors of logits [..., V]: bit by bit, or by what a score depends on.

    `dtypes`: that the model computes in.
    """
    names = tuple(sorted(dtypes))
    rounding = unit(names)
    if change is not Change.NOTHING:
        expected, found = scored(expected), scored(found)
    apart = (expected - found).abs()
    index = int(apart.argmax())
    position = tuple(int(i) for i in torch.unravel_index(torch.tensor(index), apart.shape))
    largest = float(apart.flatten()[index])
    scale = float(expected.abs().max())
    if change is Change.NOTHING:
        return Difference(largest, 0.0, largest > 0.0, position, names)
    if change is Change.CONTENT:
        allowed = rounding * scale
        return Difference(largest, allowed, largest > allowed, position, names)
    allowed = LARGEST_FACTOR * rounding * scale
    mean_square, allowed_mean_square = float(apart.square().mean()), rounding**2 * float(expected.square().mean())
    exceeded = largest > allowed or mean_square > allowed_mean_square
    return Difference(largest, allowed, exceeded, position, names)
