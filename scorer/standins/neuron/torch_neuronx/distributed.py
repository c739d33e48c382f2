"""The process group backend "neuron": gloo over the tensors' host memory."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import ProcessGroup, Store, Work

from .memory import DEVICE_TYPE, host_of

# Operations of a process group, each with the gloo method that carries it out.
_OPERATIONS = {
    "allreduce": "allreduce",
    "broadcast": "broadcast",
    "reduce": "reduce",
    "allgather": "allgather",
    "allgather_coalesced": "allgather_coalesced",
    "_allgather_base": "_allgather_base",
    "all_gather_single": "_allgather_base",
    "gather": "gather",
    "scatter": "scatter",
    "reduce_scatter": "reduce_scatter",
    "_reduce_scatter_base": "_reduce_scatter_base",
    "reduce_scatter_single": "_reduce_scatter_base",
    "alltoall": "alltoall",
    "alltoall_base": "alltoall_base",
    "all_to_all_single": "alltoall_base",
    "send": "send",
    "recv": "recv",
    "recv_anysource": "recv_anysource",
}


def register() -> None:
    """Make ``dist.init_process_group("neuron")`` known, for neuron and CPU tensors."""
    for name, method in _OPERATIONS.items():
        setattr(NeuronProcessGroup, name, _through_gloo(name, method))
    dist.Backend.register_backend("neuron", NeuronProcessGroup, devices=[DEVICE_TYPE, "cpu"])


class NeuronProcessGroup(ProcessGroup):
    """A process group over gloo. Results land in the tensors' own memory, so gloo's work handles are its handles."""

    def __init__(self, store: Store, rank: int, size: int, timeout: timedelta) -> None:
        super().__init__(rank, size)  # type: ignore[call-arg]  # torch's stub lacks this constructor
        self._gloo: Any = dist.ProcessGroupGloo(store, rank, size, timeout)
        self._begun: list[Any] | None = None  # what was issued since torch began to gather operations
        # Torch asks a group's backends for its name and abilities; its operations are the methods of this class.
        self._set_default_backend(ProcessGroup.BackendType.CUSTOM)
        for device in (DEVICE_TYPE, "cpu"):
            self._register_backend(torch.device(device), ProcessGroup.BackendType.CUSTOM, self._gloo)

    def getBackendName(self) -> str:  # noqa: N802 (torch calls it by this name)
        """The backend's name."""
        return "neuron"

    def barrier(self, opts: Any = None) -> Any:
        """Wait for every rank. Gloo knows nothing of the device that `opts` names."""
        plain = dist.BarrierOptions()
        if opts is not None:
            plain.timeout = opts.timeout
        return self._gloo.barrier(plain)

    # Several operations at once: one after the other. Torch asks for the handle of all at the end.

    def allreduce_coalesced(self, tensors: list[torch.Tensor], *opts: Any) -> Any:
        """``all_reduce`` of each tensor."""
        return self._together([self._gloo.allreduce_coalesced(_hosts(tensors), *opts)])

    def all_gather_single_coalesced(self, outputs: list[torch.Tensor], inputs: list[torch.Tensor], *opts: Any) -> Any:
        """``all_gather_single`` of each pair."""
        pairs = zip(outputs, inputs, strict=True)
        return self._together([self._gloo._allgather_base(*_hosts(pair), *opts) for pair in pairs])

    def reduce_scatter_single_coalesced(
        self, outputs: list[torch.Tensor], inputs: list[torch.Tensor], *opts: Any
    ) -> Any:
        """``reduce_scatter_single`` of each pair."""
        pairs = zip(outputs, inputs, strict=True)
        return self._together([self._gloo._reduce_scatter_base(*_hosts(pair), *opts) for pair in pairs])

    allgather_into_tensor_coalesced = all_gather_single_coalesced  # type: ignore[assignment]
    reduce_scatter_tensor_coalesced = reduce_scatter_single_coalesced  # type: ignore[assignment]

    def _start_coalescing(self, device: torch.device) -> None:
        self._begun = []

    def _end_coalescing(self, device: torch.device) -> Any:
        begun, self._begun = self._begun or [], None
        return _Works(begun)

    def _together(self, works: list[Any]) -> _Works:
        if self._begun is not None:
            self._begun += works
        return _Works(works)


class _Works(Work):
    """The handle of several operations."""

    def __init__(self, works: list[Any]) -> None:
        super().__init__()
        self._works = works

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Wait for all of them."""
        return all([work.wait() if timeout is None else work.wait(timeout) for work in self._works])  # noqa: C419

    def is_completed(self) -> bool:
        """Whether all are done."""
        return all(work.is_completed() for work in self._works)


def _through_gloo(name: str, method: str) -> Any:
    def operation(self: NeuronProcessGroup, *args: Any, **kwargs: Any) -> Any:
        hosts = [_hosts(argument) for argument in args]
        return getattr(self._gloo, method)(*hosts, **{key: _hosts(value) for key, value in kwargs.items()})

    operation.__name__ = name
    return operation


def _hosts(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value if value.is_cpu else host_of(value)
    if isinstance(value, list | tuple):
        return [_hosts(one) for one in value]
    return value
