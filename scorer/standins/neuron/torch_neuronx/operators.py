"""Operators of the device: each operator with a CPU kernel gets a neuron kernel that runs the former on host memory.

What torch composes out of other operators stays torch's own composition. An operator without a CPU kernel has no neuron
kernel either: torch then raises NotImplementedError with the operator's name.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

import torch

from . import attention, creation, indexing, products, randomness
from .crossing import crossed, follow, fresh, returned
from .memory import fresh_host_of, on_device
from .registration import implement, overload

_CPU = torch._C.DispatchKey.CPU

# Views: torch's CPU kernel computes sizes and strides only, and keeps the tensor's storage and device.
VIEWS = [
    "as_strided",
    "view",
    "_reshape_alias",
    "unfold",
    "view_as_complex",
    "view_as_real",
    "set_.source_Storage_storage_offset",
    "set_.source_Tensor",
]

# Compositions of torch that would cross to the host many times for what is one call there, with the same bits.
WHOLE = {
    "sum",
    "mean",
    "mean.dim",
    "stack",
    "repeat",
    "rsub.Scalar",
    "rsub.Tensor",
    "masked_fill.Scalar",
    "masked_fill.Tensor",
    "logsumexp",
    "embedding",
    "full_like",
    "select_backward",
    "slice_backward",
    "_unsafe_view",
}

# Words in the names of operators that make or take tensors without plain memory: the device has none.
NOT_STRIDED = re.compile("sparse|mkldnn|quantize|nested|fbgemm|coo|csr|_pack_padded|jagged")


def register() -> None:
    """Register every operator of the device. Raises TypeError for an operator that fits none of the forms below."""
    kernels: dict[str, Callable[..., Any]] = {
        **creation.kernels(),
        **indexing.kernels(),
        **products.kernels(),
        **attention.kernels(),
        "resize_": _resize_,
        **{name: functools.partial(overload(name)._op_dk, _CPU) for name in VIEWS},
    }
    for qualified in torch._C._dispatch_get_all_op_names():
        namespace, _, name = qualified.partition("::")
        if namespace == "aten" and name not in kernels and _runs_on_host(qualified, name):
            kernels[name] = kernel_of(overload(name))
    implement(kernels)
    attention.register()


def _runs_on_host(qualified: str, name: str) -> bool:
    if NOT_STRIDED.search(name):
        return False
    has_cpu_kernel: bool = torch._C._dispatch_has_kernel_for_dispatch_key(qualified, "CPU")
    return has_cpu_kernel or name in WHOLE or name.startswith("_foreach_")


def kernel_of(operator: torch._ops.OpOverload) -> Callable[..., Any]:
    """The neuron kernel of `operator`: the crossings around its CPU kernel, in the plainest form its schema permits."""
    schema = operator._schema
    compute = _compute(operator)
    if any(argument.is_out for argument in schema.arguments):
        return _with_outs(compute, operator)
    results = [result.alias_info for result in schema.returns]
    writes = any(argument.alias_info is not None and argument.alias_info.is_write for argument in schema.arguments)
    if writes and (not results or results[0] is not None):
        return _in_place(compute, operator)
    if any(result is not None for result in results):
        raise TypeError(f"{operator} returns a view: put it in VIEWS")
    if len(results) == 1 and str(schema.returns[0].type) == "Tensor":
        return _functional(compute, operator)
    return _any(compute, operator)


def _compute(operator: torch._ops.OpOverload) -> Callable[..., Any]:
    """What a kernel calls with hosts for tensors."""
    if any(argument.name == "generator" for argument in operator._schema.arguments):
        return randomness.with_device_generator(operator)
    if torch.Tag.nondeterministic_seeded in operator.tags:
        return randomness.with_device_state(operator)
    if products.is_product(operator):
        return products.rounded_once(operator)
    return _with_numbers(operator)


def _functional(compute: Callable[..., Any], operator: torch._ops.OpOverload) -> Callable[..., Any]:
    def kernel(*args: Any, **kwargs: Any) -> torch.Tensor:
        if kwargs:
            kwargs = {name: crossed(value, operator) for name, value in kwargs.items()}
        return on_device(compute(*[crossed(value, operator) for value in args], **kwargs))

    return kernel


def _in_place(compute: Callable[..., Any], operator: torch._ops.OpOverload) -> Callable[..., Any]:
    returns_self = bool(operator._schema.returns)

    def kernel(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            kwargs = {name: crossed(value, operator) for name, value in kwargs.items()}
        compute(*[crossed(value, operator) for value in args], **kwargs)
        return args[0] if returns_self else None

    return kernel


def _any(compute: Callable[..., Any], operator: torch._ops.OpOverload) -> Callable[..., Any]:
    def kernel(*args: Any, **kwargs: Any) -> Any:
        named = {name: crossed(value, operator) for name, value in kwargs.items()}
        return returned(compute(*[crossed(value, operator) for value in args], **named))

    return kernel


def _with_outs(compute: Callable[..., Any], operator: torch._ops.OpOverload) -> Callable[..., Any]:
    names = [argument.name for argument in operator._schema.arguments]
    outs = [argument.name for argument in operator._schema.arguments if argument.is_out]

    def kernel(*args: Any, **kwargs: Any) -> Any:
        given = {**dict(zip(names, args, strict=False)), **kwargs}
        hosts = {name: fresh(v, operator) if name in outs else crossed(v, operator) for name, v in given.items()}
        compute(**hosts)
        for name in outs:
            follow(given[name], hosts[name])
        return given[outs[0]] if len(outs) == 1 else tuple(given[name] for name in outs)

    return kernel


def _with_numbers(operator: torch._ops.OpOverload) -> Callable[..., Any]:
    """`operator`, also where torch hands the kernel a number for a tensor, which few operators take from Python."""
    arguments = operator._schema.arguments
    names = [argument.name for argument in arguments if str(argument.type) == "Tensor" and not argument.is_out]
    places = [i for i, argument in enumerate(arguments) if argument.name in names]
    if len(names) < 2 or torch._C._should_allow_numbers_as_tensors(operator._schema.name.removeprefix("aten::")):
        return operator

    def compute(*args: Any, **kwargs: Any) -> Any:
        given = [args[i] for i in places if i < len(args)] + [kwargs[name] for name in names if name in kwargs]
        if all(isinstance(value, torch.Tensor) for value in given):
            return operator(*args, **kwargs)
        beside = next(value for value in given if isinstance(value, torch.Tensor))
        whole = [_as_tensor(value, beside) if i in places else value for i, value in enumerate(args)]
        return operator(*whole, **{k: _as_tensor(v, beside) if k in names else v for k, v in kwargs.items()})

    return compute


def _as_tensor(value: Any, beside: torch.Tensor) -> Any:
    if isinstance(value, bool | int | float | complex):
        return torch.scalar_tensor(value, dtype=torch.result_type(beside, value), device="cpu")
    return value


def _resize_(self: torch.Tensor, size: Any, memory_format: torch.memory_format | None = None) -> torch.Tensor:
    host = fresh_host_of(self)
    host.resize_(size, memory_format=memory_format or torch.contiguous_format)
    follow(self, host)
    return self
