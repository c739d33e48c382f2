"""The operator census: every operator of one update, with dtypes, shapes and the line that called it first."""

from __future__ import annotations

import sys
from typing import Any

from .hashing import signature
from .program import Program


class Census:
    """Counts what a torch dispatch mode sees between `begin` and `end`."""

    def __init__(self, torch: Any, program: Program, session: Any) -> None:
        from torch.utils._python_dispatch import TorchDispatchMode

        rows: dict[tuple[str, str], list[Any]] = {}

        class Counter(TorchDispatchMode):  # type: ignore[no-untyped-call]
            def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                kwargs = kwargs or {}
                if not session.busy:
                    key = (func._schema.name, signature([*args, *kwargs.values()]))
                    row = rows.get(key)
                    if row is None:
                        place = None if session.in_backward else program.site(sys._getframe(1))
                        rows[key] = [1, place]
                    else:
                        row[0] += 1
                return func(*args, **kwargs)

        self._rows = rows
        self._mode: Any = Counter()  # type: ignore[no-untyped-call]

    def begin(self) -> None:
        """Start counting, in this thread and in autograd's."""
        self._mode.__enter__()

    def end(self) -> list[dict[str, Any]]:
        """Stop; rows sorted by operator and signature."""
        self._mode.__exit__(None, None, None)
        rows = {key: (first, *row) for first, (key, row) in enumerate(self._rows.items())}
        return [
            {"operator": operator, "signature": words, "count": count, "site": place, "first": first}
            for (operator, words), (first, count, place) in sorted(rows.items())
        ]
