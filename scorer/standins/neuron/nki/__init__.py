"""A stand-in for AWS's Neuron Kernel Interface (NKI) that runs kernels on a CPU with NumPy.

It stands in where the real `nki` cannot be imported, and says so: `STAND_IN` is True and the version ends in
"+standin". It computes what the instructions compute (fp32 inside, rounded to the destination at each) and enforces
Trn2's limits, in program order. `_account` tells what a launch takes, with times estimated by documented rates, and
`_schedule` runs it in other orders that the compiler may choose. It is stricter than the compiler where the
documentation leaves a choice.
"""

from __future__ import annotations

from typing import NoReturn as _NoReturn

import numpy as _numpy

from . import collectives, compiler, isa, language, simulator, tensor, typing
from ._absent import FROM_NKI as _FROM_NKI
from ._absent import refuse_absent as _refuse_absent
from ._errors import NkiValidationError
from ._kernel import Kernel, jit, simulate

__version__ = "0.5.0+standin"
STAND_IN = True
dtype = _numpy.dtype  # for annotations

__all__ = [
    "STAND_IN",
    "Kernel",
    "NkiValidationError",
    "__version__",
    "collectives",
    "compiler",
    "dtype",
    "isa",
    "jit",
    "language",
    "simulate",
    "simulator",
    "tensor",
    "typing",
]


def __getattr__(name: str) -> _NoReturn:
    _refuse_absent("nki", name, _FROM_NKI)
