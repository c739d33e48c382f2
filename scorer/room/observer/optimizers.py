"""The optimizer plan: which optimizer holds which parameter, with which values, and which it really changed.

A rank's optimizer may hold what another rank updates: only a change across its own step shows who owns a parameter.
Taken inside the lockstep window, where tensors are hashed anyway.
"""

from __future__ import annotations

import inspect
from typing import Any

from .hashing import tensor_hash
from .program import Program


class Optimizers:
    """What one rank's optimizers hold and do. `values` are those of each group at its step in the current update."""

    def __init__(self, torch: Any, program: Program) -> None:
        self._torch, self._program = torch, program
        self._known: dict[int, dict[str, Any]] = {}
        self._alive: list[Any] = []  # an id is its object's own only as long as that lives
        self._before: dict[int, str] = {}
        self.values: dict[str, dict[str, Any]] = {}

    def before(self, optimizer: Any) -> None:
        """`optimizer` is about to step."""
        row = self._row(optimizer)
        for number, group in enumerate(optimizer.param_groups):
            told = {name: _plain(value) for name, value in group.items() if name != "params"}
            self.values[f"{row['name']}.{number}"] = {name: value for name, value in told.items() if value is not None}
            for parameter in group["params"]:
                row["groups"][id(parameter)] = number
                self._before[id(parameter)] = tensor_hash(self._torch, parameter)

    def after(self, optimizer: Any) -> None:
        """`optimizer` has stepped."""
        row = self._row(optimizer)
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                known = self._before.get(id(parameter))
                if known is not None and known != tensor_hash(self._torch, parameter):
                    row["stepped"].add(id(parameter))
        self._before = {}

    def plan(self, names: dict[int, str]) -> list[dict[str, Any]]:
        """Rows of receipts.Optimizer. `names` are the parameters' by id; one without a name is no part of the model."""
        return [
            {
                "name": row["name"],
                "algorithm": row["algorithm"],
                "site": row["site"],
                "parameters": [
                    {"name": names[key], "group": number, "stepped": key in row["stepped"]}
                    for key, number in row["groups"].items()
                    if key in names
                ],
            }
            for row in self._known.values()
        ]

    def _row(self, optimizer: Any) -> dict[str, Any]:
        row = self._known.get(id(optimizer))
        if row is None:
            self._alive.append(optimizer)
            kind = type(optimizer)
            same = sum(known["class"] == kind.__name__ for known in self._known.values())
            code = getattr(inspect.unwrap(kind.step), "__code__", None)
            file = None if code is None else self._program.relative(code.co_filename)
            row = self._known[id(optimizer)] = {
                "class": kind.__name__,
                "name": kind.__name__ + (f" {same + 1}" if same else ""),
                "algorithm": kind.__name__ if file is not None else f"{kind.__module__}.{kind.__name__}",
                "site": None if code is None or file is None else {"file": file, "line": code.co_firstlineno},
                "groups": {},
                "stepped": set(),
            }
        return row


def _plain(value: Any) -> Any:
    """A hyper-parameter as JSON, floats as float.hex(); None for what is no number, truth value or tuple of them."""
    if isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value.hex()
    if isinstance(value, list | tuple):
        parts = [_plain(part) for part in value]
        return None if None in parts else parts
    if hasattr(value, "numel") and value.numel() == 1:  # a learning rate may be a tensor
        return _plain(value.item())
    return None
