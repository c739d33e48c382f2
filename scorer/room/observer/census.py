"""A timed census: the operators of one update, and where its time went, line by line; `calls.py` is the other one."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from .hashing import signature
from .program import Program


class Census:
    """Counts what a torch dispatch mode sees between `begin` and `end`."""

    def __init__(self, torch: Any, program: Program, session: Any, clock: Callable[[], float]) -> None:
        from torch.utils._python_dispatch import TorchDispatchMode

        rows: dict[tuple[str, str], list[Any]] = {}
        times = Times(clock)

        class Counter(TorchDispatchMode):  # type: ignore[no-untyped-call]
            @classmethod
            def ignore_compile_internals(cls) -> bool:  # else torch would compile nothing while operators are seen
                return True

            def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                kwargs = kwargs or {}
                if session.busy:
                    return func(*args, **kwargs)
                called = clock()
                name = func._schema.name
                key = (name, signature([*args, *kwargs.values()]))
                row = rows.get(key)
                place = None if session.in_backward else program.site(sys._getframe(1))
                if row is None:
                    rows[key] = [1, place]
                else:
                    row[0] += 1
                with times.of(name, place, called):
                    return func(*args, **kwargs)

        self._rows = rows
        self._times = times
        self._mode: Any = Counter()  # type: ignore[no-untyped-call]

    def begin(self) -> None:
        """Start counting, in this thread and in autograd's."""
        self._mode.__enter__()

    def end(self, place: dict[str, Any] | None) -> dict[str, Any]:
        """Stop where the update ends, at `place`; `rows` sorted by operator and signature, `times` by line and
        operator.
        """
        self._mode.__exit__(None, None, None)
        rows = {key: (first, *row) for first, (key, row) in enumerate(self._rows.items())}
        return {
            "rows": [
                {"operator": operator, "signature": words, "count": count, "site": place, "first": first}
                for (operator, words), (first, count, place) in sorted(rows.items())
            ],
            "times": self._times.rows(place),
        }


class Times:
    """Seconds within operators and before them, by the line that calls them. Ours are left out: those between the call
    and the operator itself.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._rows: dict[tuple[str, int, str], list[Any]] = {}
        self._idle_since = clock()
        self._started = 0.0
        self._row: list[Any] = []

    def of(self, operator: str, place: dict[str, Any] | None, called: float) -> Times:
        """The context of one call."""
        self._row = self._rows.setdefault((*_line(place), operator), [0, 0.0, 0.0])
        self._row[0] += 1
        self._row[2] += called - self._idle_since
        return self

    def __enter__(self) -> None:
        self._started = self._clock()

    def __exit__(self, *_error: object) -> None:
        self._idle_since = self._clock()
        self._row[1] += self._idle_since - self._started

    def rows(self, end: dict[str, Any] | None) -> list[dict[str, Any]]:
        """Rows of receipts.LineTime; the last stands for what passed from the last operator to the line `end`."""
        rest = self._clock() - self._idle_since
        return [
            {
                "site": {"file": file, "line": line} if file else None,
                "operator": operator,
                "count": count,
                "seconds": seconds,
                "before_seconds": before,
            }
            for (file, line, operator), (count, seconds, before) in [
                *sorted(self._rows.items()),
                ((*_line(end), ""), [0, 0.0, rest]),
            ]
        ]


def _line(place: dict[str, Any] | None) -> tuple[str, int]:
    return (place["file"], place["line"]) if place else ("", 0)
