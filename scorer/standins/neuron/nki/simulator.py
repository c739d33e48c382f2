"""nki.simulator: running a kernel on the CPU from another library."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ._kernel import simulate

__all__ = ["simulate_kernel"]


def simulate_kernel(func: Any, args: Sequence[Any], kwargs: Mapping[str, Any], lnc: int) -> Any:
    """What `func`, a kernel or a plain function, returns for these arguments on `lnc` cores."""
    return simulate(func)[lnc](*args, **kwargs)
