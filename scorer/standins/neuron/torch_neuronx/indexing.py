"""Indexing by tensors. As on every device of torch, the index tensors, and only they, may lie on the CPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from .crossing import crossed
from .memory import host_of, on_device

_aten = torch.ops.aten
Indices = Sequence[torch.Tensor | None]


def kernels() -> dict[str, Callable[..., Any]]:
    """The neuron kernels of this module by operator name."""
    return {
        "index.Tensor": _index,
        "index_put": _index_put,
        "index_put_": _index_put_,
        "_index_put_impl_": _index_put_impl_,
    }


def _index(self: torch.Tensor, indices: Indices) -> torch.Tensor:
    operator = _aten.index.Tensor
    return on_device(operator(crossed(self, operator), _hosts(indices)))


def _index_put(self: torch.Tensor, indices: Indices, values: torch.Tensor, accumulate: bool = False) -> torch.Tensor:
    operator = _aten.index_put.default
    return on_device(operator(crossed(self, operator), _hosts(indices), crossed(values, operator), accumulate))


def _index_put_(self: torch.Tensor, indices: Indices, values: torch.Tensor, accumulate: bool = False) -> torch.Tensor:
    operator = _aten.index_put_.default
    operator(crossed(self, operator), _hosts(indices), crossed(values, operator), accumulate)
    return self


def _index_put_impl_(
    self: torch.Tensor, indices: Indices, values: torch.Tensor, accumulate: bool = False, unsafe: bool = False
) -> torch.Tensor:
    operator = _aten._index_put_impl_.default
    operator(crossed(self, operator), _hosts(indices), crossed(values, operator), accumulate, unsafe)
    return self


def _hosts(indices: Indices) -> list[torch.Tensor | None]:
    return [index if index is None or index.is_cpu else host_of(index) for index in indices]
