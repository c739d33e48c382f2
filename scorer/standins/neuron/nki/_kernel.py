"""Launching: `nki.jit`, `Kernel`, `nki.simulate`.

A launch wraps the tensor arguments as HBM tensors over the caller's memory, runs the Python function once per core,
and returns the memory of the `nl.shared_hbm` tensors that the function returns. The cores of LNC 2 take turns on the
same shared HBM, see `_pair`.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from . import isa
from ._core import Core, Launch, enter, running
from ._dtypes import SUPPORTED
from ._errors import NkiValidationError, from_binding, locate, refuse
from ._frameworks import Argument, framework_of
from ._pair import Pair
from ._storage import Buffer, argument
from ._tensor import NkiTensor

_INSTRUCTIONS = frozenset(isa.__all__)
_LNC = (1, 2)


class Kernel:
    """A function of HBM tensors and compile-time values, made by `nki.jit`.

    Calling it runs it: NumPy arrays in, NumPy arrays out; torch tensors in, torch tensors out. Called while another
    kernel runs, it is a plain function call. `kernel[2]` runs on the two cores of a logical NeuronCore.

    Attributes: `func` (the Python function), `lnc` (1 or 2).
    """

    def __init__(self, func: Callable[..., Any], lnc: int = 1) -> None:
        functools.update_wrapper(self, func)
        self.func = func
        self.lnc = lnc

    __name__: str

    def __getitem__(self, lnc: int) -> Kernel:
        """The kernel for `lnc` cores, a bare 1 or 2."""
        if type(lnc) is not int or lnc not in _LNC:
            raise NkiValidationError(f"{self.__name__}[{lnc!r}]: the number of cores is a bare 1 or 2")
        return Kernel(self.func, lnc)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Launches the kernel. Every launch goes through here."""
        if running() is not None:
            return self.func(*args, **kwargs)
        return self._launch(Launch(self.__name__, self.lnc), args, kwargs)

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the kernel on arguments that only have the right shapes, for the shapes of its results; no launch.

        `torch.compile` learns them so. Numbers used as addresses mean nothing then, and are not checked.
        """
        return self._launch(Launch(self.__name__, self.lnc, shapes_only=True), args, kwargs)

    def _launch(self, launch: Launch, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self._check_cores()
        arguments: list[Argument] = []
        try:
            arguments = _arguments(args, kwargs)
            return _run(launch, self.func, arguments, args, kwargs)
        except NkiValidationError as error:
            locate(error, error.__traceback__, self.__name__, launch.failed)
            raise
        except TypeError as error:
            found = from_binding(error, error.__traceback__, _INSTRUCTIONS)
            if found is None:
                raise
            locate(found, error.__traceback__, self.__name__, launch.failed)
            raise found from error

    def _check_cores(self) -> None:
        configured = os.environ.get("NEURON_LOGICAL_NC_CONFIG", "")
        if configured and configured != str(self.lnc):
            raise NkiValidationError(
                f"{self.__name__}[{self.lnc}]: NCC_EVRF066: the kernel is specialised for LNC {self.lnc}, "
                f"NEURON_LOGICAL_NC_CONFIG={configured}; launch {self.__name__}[{configured}]"
            )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Kernel) and self.func is other.func and self.lnc == other.lnc

    def __hash__(self) -> int:
        return hash((self.func, self.lnc))

    def __repr__(self) -> str:
        return f"<nki kernel {self.__name__}[{self.lnc}]>"


def jit(fn: Callable[..., Any] | None = None, **config: Any) -> Any:
    """Makes a `Kernel`; use as `@nki.jit` or `@nki.jit(...)`.

    `mode` is ignored and `platform_target` refused, as NKI does since 0.3; compiler configurations concern the
    compiler only.
    """
    if "platform_target" in config:
        raise NkiValidationError("nki.jit(platform_target=...) was removed; set NEURON_PLATFORM_TARGET_OVERRIDE")
    unknown = set(config) - {"mode", "compile_config", "specialization_config"}
    if unknown:
        raise NkiValidationError(f"nki.jit does not know {', '.join(sorted(unknown))}")
    if fn is None:
        return Kernel
    return fn if isinstance(fn, Kernel) else Kernel(fn)


def simulate(kernel: Any) -> Kernel:
    """A callable that runs `kernel` (a `Kernel`, `kernel[2]` or a plain function) on the CPU, as all launches do."""
    return kernel if isinstance(kernel, Kernel) else Kernel(kernel)


def _arguments(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Argument]:
    found: list[Argument] = []
    for label, value in [*enumerate(args), *kwargs.items()]:
        framework = framework_of(value)
        if framework is None:
            continue
        operand = f"argument {label}"
        array = framework.to_numpy(value)
        if array.dtype not in SUPPORTED.values():
            refuse(f"type {array.dtype} is not a type of Trn2; pass one of {', '.join(SUPPORTED)}", operand)
        if array.size == 0 or array.ndim == 0:
            refuse(f"shape {array.shape}; HBM tensors have at least one dimension and no dimension of size 0", operand)
        writable = array.flags.c_contiguous and array.flags.writeable
        found.append(Argument(operand, value, framework, np.ascontiguousarray(array), writable))
    return found


def _run(
    launch: Launch, func: Callable[..., Any], arguments: list[Argument], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Runs all cores and returns what the first one returned, as tensors of the caller's library."""
    core = Core(launch, 0)
    by_value: dict[int, NkiTensor] = {}
    for item in arguments:
        if id(item.value) not in by_value:
            storage = argument(core, item.array, item.name, item.writable)
            by_value[id(item.value)] = NkiTensor(storage, item.array, 0)
    wrapped = [by_value.get(id(value), value) for value in args]
    named = {key: by_value.get(id(value), value) for key, value in kwargs.items()}
    cores = [core, *(Core(launch, index) for index in range(1, launch.cores))]

    def on_core(index: int) -> Any:
        enter(cores[index])
        try:
            with np.errstate(all="ignore"):
                return func(*wrapped, **named)
        finally:
            enter(None)

    if launch.cores == 1:
        results = [on_core(0)]
    else:
        launch.pair = Pair(launch, on_core)
        results = launch.pair.run()
        _check_same(cores, results)
    tensors = {id(by_value[id(item.value)]._storage): item for item in arguments}
    found = results[0]
    if isinstance(found, (tuple, list)):
        return type(found)(_result(item, position, tensors, arguments) for position, item in enumerate(found))
    return None if found is None else _result(found, 0, tensors, arguments)


def _check_same(cores: list[Core], results: list[Any]) -> None:
    allocated = [core.shared_allocated for core in cores]
    if allocated[0] != allocated[1]:
        refuse(
            f"core 0 allocates {allocated[0]} nl.shared_hbm tensors, core 1 {allocated[1]}; both cores must have the "
            "same control flow"
        )
    described = [_describe(result) for result in results]
    if any(item != described[0] for item in described[1:]):
        refuse(f"core 0 returns {described[0]}, core 1 {described[1]}; both cores must have the same control flow")


def _describe(result: Any) -> Any:
    if isinstance(result, (tuple, list)):
        return [_describe(item) for item in result]
    return (result.shape, str(result.dtype)) if isinstance(result, NkiTensor) else result


def _result(found: Any, position: int, owners: dict[int, Argument], arguments: list[Argument]) -> Any:
    """One result as a tensor of the caller's library; a returned argument comes back as the caller's own object."""
    operand = f"result {position}"
    if not isinstance(found, NkiTensor):
        refuse(f"{found!r}; a kernel returns nl.shared_hbm tensors", operand)
    storage = found._storage
    if storage.buffer is not Buffer.shared_hbm:
        refuse(f"lies in {storage.buffer!r}; results must be allocated with buffer=nl.shared_hbm", operand)
    if found._array.nbytes != storage.array.nbytes or not found.is_contiguous():
        refuse(f"{found.shape} is a part of the tensor {storage.array.shape}; return whole tensors", operand)
    unwritten = storage.unwritten()
    if unwritten:
        refuse(f"{unwritten} of {storage.array.size} elements of the result {found.shape} were never written", operand)
    owner = owners.get(id(storage))
    if owner is not None:
        return owner.value
    if not arguments:
        return found._array
    return arguments[0].framework.from_numpy(found._array, arguments[0].value)
