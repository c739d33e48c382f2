"""Operators of the device: each one that has a CPU kernel gets a kernel for the neuron dispatch key that runs the former on the host memory.

What torch composes out of other operators stays torch's own composition. An operator without a CPU kernel has no neuron kernel either:
torch raises NotImplementedError with its name.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from . import memory, products, randomness
from .memory import fresh_host_of, host_of, on_device, on_storage

KEY = "PrivateUse1"
_CPU = torch._C.DispatchKey.CPU
_aten = torch.ops.aten
_libraries: list[torch.library.Library] = []  # a Library takes its kernels with it when it is collected

# Views and changes of metadata: torch's CPU kernel computes sizes and strides only, and keeps the tensor's storage and device.
METADATA = (
    "as_strided",
    "view",
    "_reshape_alias",
    "unfold",
    "view.dtype",
    "set_.source_Storage_storage_offset",
    "set_.source_Tensor",
)
# Composites of torch that would cost many crossings where the CPU needs one call, with the same result.
WHOLE = ("sum", "mean", "mean.dim", "stack", "repeat", "rsub.Scalar", "rsub.Tensor", "index_put", "index_put_", "expand_copy", "where.ScalarSelf",
         "where.ScalarOther", "linalg_vector_norm", "std.correction", "var.correction", "logsumexp", "masked_fill.Scalar", "masked_fill.Tensor",
         "embedding", "full_like", "softplus_backward", "select_backward", "slice_backward", "_unsafe_view_copy", "dot", "vdot")  # fmt: skip


def register() -> None:
    """Register every operator of the device."""
    library = torch.library.Library("aten", "IMPL")
    _libraries.append(library)
    has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
    special = _special_kernels()
    for name, kernel in special.items():
        library.impl(name, kernel, KEY)
    for name in METADATA:
        library.impl(name, functools.partial(_overload(name)._op_dk, _CPU), KEY)
    done = {*special, *METADATA}
    for qualified in torch._C._dispatch_get_all_op_names():
        namespace, _, name = qualified.partition("::")
        if namespace != "aten" or name in done:
            continue
        if name in WHOLE or name.startswith("_foreach_") or has_kernel(qualified, "CPU"):
            library.impl(name, _kernel(_overload(name)), KEY)


def _overload(name: str) -> torch._ops.OpOverload:
    packet, _, overload = name.partition(".")
    return getattr(getattr(_aten, packet), overload or "default")


def _kernel(operator: torch._ops.OpOverload) -> Callable[..., Any]:
    """The neuron kernel of `operator`: crossings around its CPU kernel, in a form as plain as the schema permits."""
    schema = operator._schema
    compute: Callable[..., Any] = products.rounded_once(operator)
    if any(argument.name == "generator" for argument in schema.arguments):
        compute = randomness.with_device_generator(operator)
    elif torch.Tag.nondeterministic_seeded in operator.tags:
        compute = randomness.with_device_state(operator)
    written = [i for i, a in enumerate(schema.arguments) if a.alias_info is not None and a.alias_info.is_write]
    outs = [a.name for a in schema.arguments if a.is_out]
    if outs:
        return functools.partial(_run_out, compute, operator, tuple(outs))
    if written and len(schema.returns) == 1 and str(schema.returns[0].type) == "Tensor":
        return functools.partial(_run_in_place, compute, operator)
    if written and not schema.returns:
        return functools.partial(_run_for_effect, compute, operator)
    if any(r.alias_info is not None for r in schema.returns):
        return functools.partial(_run_view, compute, operator)
    if len(schema.returns) == 1 and str(schema.returns[0].type) == "Tensor":
        return functools.partial(_run_functional, compute, operator)
    return functools.partial(_run, compute, operator)


def _run_functional(
    compute: Callable[..., Any], operator: torch._ops.OpOverload, *args: Any, **kwargs: Any
) -> torch.Tensor:
    if kwargs:
        kwargs = {name: _host(value, operator) for name, value in kwargs.items()}
    return on_device(compute(*[_host(a, operator) for a in args], **kwargs))


def _run_in_place(
    compute: Callable[..., Any], operator: torch._ops.OpOverload, *args: Any, **kwargs: Any
) -> torch.Tensor:
    if kwargs:
        kwargs = {name: _host(value, operator) for name, value in kwargs.items()}
    compute(*[_host(a, operator) for a in args], **kwargs)
    return args[0]


def _run_for_effect(compute: Callable[..., Any], operator: torch._ops.OpOverload, *args: Any, **kwargs: Any) -> None:
    compute(*[_host(a, operator) for a in args], **{name: _host(value, operator) for name, value in kwargs.items()})


def _run_view(compute: Callable[..., Any], operator: torch._ops.OpOverload, *args: Any, **kwargs: Any) -> Any:
    views = compute(
        *[_host(a, operator) for a in args], **{name: _host(value, operator) for name, value in kwargs.items()}
    )
    storage = args[0].untyped_storage()
    if isinstance(views, torch.Tensor):
        return on_storage(storage, views)
    return [on_storage(storage, view) for view in views]


def _run(compute: Callable[..., Any], operator: torch._ops.OpOverload, *args: Any, **kwargs: Any) -> Any:
    return _device(
        compute(*[_host(a, operator) for a in args], **{name: _host(value, operator) for name, value in kwargs.items()})
    )


def _run_out(
    compute: Callable[..., Any], operator: torch._ops.OpOverload, outs: tuple[str, ...], *args: Any, **kwargs: Any
) -> Any:
    for name in outs:
        if name not in kwargs:
            args, kwargs = _by_name(operator, args, kwargs)
    hosts = {
        name: (_fresh(value, operator) if name in outs else _host(value, operator)) for name, value in kwargs.items()
    }
    compute(*[_host(a, operator) for a in args], **hosts)
    for name in outs:
        _follow(kwargs[name], hosts[name])
    written = tuple(kwargs[name] for name in outs)
    return written[0] if len(written) == 1 else written


def _by_name(operator: torch._ops.OpOverload, args: Any, kwargs: dict[str, Any]) -> tuple[tuple[()], dict[str, Any]]:
    names = [a.name for a in operator._schema.arguments]
    return (), {**dict(zip(names, args, strict=False)), **kwargs}


def _follow(tensor: Any, host: Any) -> None:
    """Let `tensor` follow a host that an ``out=`` operator has resized."""
    if isinstance(tensor, list | tuple):
        for one, other in zip(tensor, host, strict=True):
            _follow(one, other)
    elif tensor.shape != host.shape or tensor.stride() != host.stride():
        memory._set._op_dk(_CPU, tensor, memory.storage_over(host), host.storage_offset(), host.shape, host.stride())


def _fresh(value: Any, operator: torch._ops.OpOverload) -> Any:
    if isinstance(value, list | tuple):
        return [_fresh(one, operator) for one in value]
    if value.is_cpu:
        raise _two_devices(operator)
    return fresh_host_of(value)


def _host(value: Any, operator: torch._ops.OpOverload) -> Any:
    if isinstance(value, torch.Tensor):
        if not value.is_cpu:
            if value.device.type != "neuron":
                raise _two_devices(operator, str(value.device))
            return host_of(value)
        if value.dim():
            raise _two_devices(operator)
        return value
    if isinstance(value, list | tuple):
        return [_host(one, operator) for one in value]
    if isinstance(value, torch.device):
        return torch.device("cpu")
    return value


def _device(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return on_device(value)
    if isinstance(value, tuple):
        return tuple(_device(one) for one in value)
    if isinstance(value, list):
        return [_device(one) for one in value]
    return value


def _two_devices(operator: torch._ops.OpOverload, other: str = "cpu") -> RuntimeError:
    return RuntimeError(
        f"Expected all tensors to be on the same device, but found at least two devices, neuron:0 and {other}! (when running {operator})"
    )


# --- operators whose kernels are written out --------------------------------------------------------------------------------


def _special_kernels() -> dict[str, Callable[..., Any]]:
    return {
        "empty.memory_format": _empty,
        "empty_strided": _empty_strided,
        "copy_": _copy_,
        "_copy_from": _copy_from,
        "_copy_from_and_resize": _copy_from,
        "_local_scalar_dense": _local_scalar_dense,
        "set_.source_Storage": _set_source_storage,
        "set_": _set_,
        "resize_": _resize_,
        "index.Tensor": _index,
        "_index_put_impl_": _index_put_impl_,
        "index_put_": _index_put_,
        "index_put": _index_put,
        "convolution_overrideable": _convolution,
        "convolution_backward_overrideable": _convolution_backward,
    }


def _empty(
    size: Any,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = None,
    memory_format: Any = None,
) -> torch.Tensor:
    _check_device(device)
    return on_device(
        torch.empty(size, dtype=dtype, layout=layout, memory_format=memory_format or torch.contiguous_format)
    )


def _empty_strided(
    size: Any, stride: Any, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: Any = None
) -> torch.Tensor:
    _check_device(device)
    return on_device(torch.empty_strided(size, stride, dtype=dtype, layout=layout))


def _check_device(device: torch.device | None) -> None:
    if device is not None and device.index not in (None, 0):
        raise RuntimeError(f"neuron device index {device.index} is out of range: a rank has one device, neuron:0")


def _copy_(self: torch.Tensor, source: torch.Tensor, non_blocking: bool = False) -> torch.Tensor:
    _any_host(self).copy_(_any_host(source))
    return self


def _copy_from(self: torch.Tensor, target: torch.Tensor, non_blocking: bool = False) -> torch.Tensor:
    _any_host(target).copy_(_any_host(self))
    return target


def _any_host(tensor: torch.Tensor) -> torch.Tensor:
    return tensor if tensor.is_cpu else host_of(tensor)


def _local_scalar_dense(self: torch.Tensor) -> Any:
    return host_of(self).item()


def _set_source_storage(self: torch.Tensor, source: torch.UntypedStorage) -> torch.Tensor:
    memory._set._op_dk(_CPU, self, source, 0, (source.nbytes() // self.element_size(),), (1,))
    return self


def _set_(self: torch.Tensor) -> torch.Tensor:
    memory._set._op_dk(_CPU, self, memory.storage_over(torch.empty(0, dtype=self.dtype)), 0, (0,), (1,))
    return self


def _resize_(self: torch.Tensor, size: Any, memory_format: Any = None) -> torch.Tensor:
    host = fresh_host_of(self)
    host.resize_(size, memory_format=memory_format or torch.contiguous_format)
    _follow(self, host)
    return self


def _index(self: torch.Tensor, indices: Any) -> torch.Tensor:
    return on_device(_aten.index.Tensor(_host(self, _aten.index.Tensor), _index_hosts(indices)))


def _index_put_impl_(
    self: torch.Tensor, indices: Any, values: torch.Tensor, accumulate: bool = False, unsafe: bool = False
) -> torch.Tensor:
    operator = _aten._index_put_impl_.default
    operator(_host(self, operator), _index_hosts(indices), _host(values, operator), accumulate, unsafe)
    return self


def _index_put_(self: torch.Tensor, indices: Any, values: torch.Tensor, accumulate: bool = False) -> torch.Tensor:
    operator = _aten.index_put_.default
    operator(_host(self, operator), _index_hosts(indices), _host(values, operator), accumulate)
    return self


def _index_put(self: torch.Tensor, indices: Any, values: torch.Tensor, accumulate: bool = False) -> torch.Tensor:
    operator = _aten.index_put.default
    return on_device(operator(_host(self, operator), _index_hosts(indices), _host(values, operator), accumulate))


def _index_hosts(indices: Any) -> list[torch.Tensor | None]:
    """Index tensors may lie on the CPU, as with every device of torch."""
    return [index if index is None else _any_host(index) for index in indices]


def _convolution(*args: Any) -> torch.Tensor:
    operator = _aten.convolution.default
    return on_device(products.rounded_once(operator)(*[_host(a, operator) for a in args]))


def _convolution_backward(
    grad: torch.Tensor, input: torch.Tensor, weight: torch.Tensor, stride: Any, padding: Any, dilation: Any, transposed: bool, output_padding: Any,
    groups: int, output_mask: Any,
) -> Any:  # fmt: skip
    operator = _aten.convolution_backward.default
    hosts = [_host(t, operator) for t in (grad, input, weight)]
    bias_sizes = [grad.shape[1]]
    return _device(
        products.rounded_once(operator)(
            *hosts, bias_sizes, stride, padding, dilation, transposed, output_padding, groups, output_mask
        )
    )
