"""nki.tensor: constants known while a kernel is compiled, for `nl.shared_constant`. Here they are NumPy arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._dtypes import Array, as_dtype


def zeros(shape: Sequence[int], dtype: Any) -> Array:
    """All zeros."""
    return np.zeros(tuple(shape), as_dtype(dtype))


def identity(n: int, dtype: Any) -> Array:
    """The identity matrix (n, n)."""
    return np.eye(n, dtype=np.uint8).astype(as_dtype(dtype))


def arange(start: int, stop: int, step: int, dtype: Any) -> Array:
    """start, start + step, ... below stop."""
    return np.arange(start, stop, step).astype(as_dtype(dtype))
