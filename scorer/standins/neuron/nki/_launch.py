"""A launch: tensor arguments become HBM tensors over the caller's memory, the Python function runs once per core, and
the memory of the `nl.shared_hbm` tensors that it returns is the result. The cores of LNC 2 take turns, see `_pair`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ._core import Core, Launch, enter
from ._dtypes import SUPPORTED, WIDE, Array, assign, declared
from ._errors import refuse
from ._frameworks import Argument, framework_of
from ._pair import Pair
from ._storage import Buffer, argument
from ._tensor import NkiTensor


def bind(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Argument]:
    """The tensors among the arguments of a launch, also those inside tuples, lists and dictionaries."""
    found: list[Argument] = []
    for label, value in _leaves([*enumerate(args), *kwargs.items()]):
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


def run(
    launch: Launch, func: Callable[..., Any], arguments: list[Argument], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Runs all cores and returns what the first one returned, as tensors of the caller's library."""
    core = Core(launch, 0)
    by_value: dict[int, NkiTensor] = {}
    for item in arguments:
        if id(item.value) not in by_value:
            array = item.array.astype(WIDE.get(item.array.dtype, item.array.dtype)) if launch.wide else item.array
            storage = argument(core, array, item.name, item.writable)
            by_value[id(item.value)] = NkiTensor(storage, array, 0)
    wrapped = [_wrapped(value, by_value) for value in args]
    named = {key: _wrapped(value, by_value) for key, value in kwargs.items()}
    cores = [core, *(Core(launch, index) for index in range(1, launch.cores))]

    def on_core(index: int) -> Any:
        enter(cores[index])
        try:
            with np.errstate(all="ignore"):
                return func(*wrapped, **named)
        finally:
            enter(None)

    try:
        if launch.cores == 1:
            results = [on_core(0)]
        else:
            launch.pair = Pair(launch, on_core)
            results = launch.pair.run()
            _check_same(cores, results)
        if launch.wide:
            for item in arguments:
                if item.writable:
                    item.array[...] = _narrow(by_value[id(item.value)]._array)
        tensors = {id(by_value[id(item.value)]._storage): item for item in arguments}
        return _returned(results[0], tensors, arguments)
    finally:
        launch.end()


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
    if isinstance(result, dict):
        return {key: _describe(item) for key, item in result.items()}
    return (result.shape, str(result.dtype)) if isinstance(result, NkiTensor) else result


def _returned(found: Any, owners: dict[int, Argument], arguments: list[Argument]) -> Any:
    """What the caller gets for what the kernel returned.

    Tensors in a sequence come back in a sequence of its type. Of nested ones, or with None among them, the compiler
    keeps the tensors, in order: one alone, several in a tuple. Source: `lowerRes` of the specialiser of NKI 0.2 to 0.6
    (leanprover/KLR), which drops anything else without a word; here that is refused.
    """
    if not _is_sequence(found):
        return None if found is None else _result(found, "0", owners, arguments)
    parts = [_result(item, label, owners, arguments) for label, item in _results("", found)]
    if not any(item is None or _is_sequence(item) for item in found):
        return _like(found, parts)
    return (parts[0] if len(parts) == 1 else tuple(parts)) if parts else None


def _results(label: str, sequence: Any) -> Iterator[tuple[str, Any]]:
    """The results inside nested tuples and lists, with where they are: `0`, `1.0`."""
    for position, item in enumerate(sequence):
        if _is_sequence(item):
            yield from _results(f"{label}{position}.", item)
        elif item is not None:
            yield f"{label}{position}", item


def _result(found: Any, label: str, owners: dict[int, Argument], arguments: list[Argument]) -> Any:
    """One result as a tensor of the caller's library; a returned argument comes back as the caller's own object."""
    operand = f"result {label}"
    if isinstance(found, dict):
        refuse("a dictionary; the compiler takes results from tuples and lists only: return its values", operand)
    if not isinstance(found, NkiTensor):
        refuse(f"{found!r}; a kernel returns nl.shared_hbm tensors, alone or in tuples and lists", operand)
    storage = found._storage
    if storage.buffer is not Buffer.shared_hbm:
        refuse(f"lies in {storage.buffer!r}; results must be allocated with buffer=nl.shared_hbm", operand)
    if found._array.nbytes != storage.array.nbytes or not found.is_contiguous():
        refuse(f"{found.shape} is a part of the tensor {storage.array.shape}; return whole tensors", operand)
    unwritten = storage.unwritten()
    if unwritten and not storage.core.launch.shapes_only:
        refuse(f"{unwritten} of {storage.array.size} elements of the result {found.shape} were never written", operand)
    owner = owners.get(id(storage))
    if owner is not None:
        return owner.value
    array = _narrow(found._array)
    if not arguments:
        return array
    return arguments[0].framework.from_numpy(array, arguments[0].value)


def _leaves(labelled: list[tuple[Any, Any]]) -> Iterator[tuple[Any, Any]]:
    """The values inside nested tuples, lists and dictionaries, with where they are: `0`, `weights.1`."""
    for label, value in labelled:
        if _is_sequence(value):
            yield from _leaves([(f"{label}.{position}", part) for position, part in enumerate(value)])
        elif type(value) is dict:
            yield from _leaves([(f"{label}.{key}", part) for key, part in value.items()])
        else:
            yield label, value


def _is_sequence(value: Any) -> bool:
    """A tuple, named or not, or a list."""
    return type(value) in (tuple, list) or (isinstance(value, tuple) and hasattr(value, "_make"))


def _like(sequence: Any, parts: list[Any]) -> Any:
    """`parts` in a sequence of the same type."""
    make = getattr(sequence, "_make", type(sequence))
    return make(parts)


def _wrapped(value: Any, by_value: dict[int, NkiTensor]) -> Any:
    """`value` with every tensor argument inside it as the kernel sees it."""
    if _is_sequence(value):
        return _like(value, [_wrapped(part, by_value) for part in value])
    if type(value) is dict:
        return {key: _wrapped(part, by_value) for key, part in value.items()}
    return by_value.get(id(value), value)


def _narrow(array: Array) -> Array:
    """Memory in the type that it stands for, see `WIDE`."""
    if array.dtype.metadata is None:
        return array
    result = np.empty(array.shape, declared(array.dtype))
    assign(result, array.astype(np.float32), nearest=True)
    return result
