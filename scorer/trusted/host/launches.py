"""Kernels that ran in the model process, by name: `nki.Kernel.__call__` is where every execution passes."""

from __future__ import annotations

import functools
import sys
from collections import Counter
from typing import Any


class Launches:
    """Counts of kernel launches since the start."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._installed = False

    def install(self) -> None:
        """Count from now on, where the submission has imported `nki`; kernels that exist already count as well."""
        kind = getattr(sys.modules.get("nki"), "Kernel", None)
        if kind is None or self._installed:
            return
        self._installed = True
        call, counts = kind.__call__, self.counts
        depth = 0

        @functools.wraps(call)
        def counted(kernel: Any, *args: Any, **kwargs: Any) -> Any:
            nonlocal depth
            depth += 1  # a kernel called inside a running kernel is no launch of its own
            try:
                result = call(kernel, *args, **kwargs)
            finally:
                depth -= 1
            if depth == 0:
                counts[str(getattr(getattr(kernel, "func", kernel), "__name__", type(kernel).__name__))] += 1
            return result

        kind.__call__ = counted
