"""Matrix products and convolution.

In bf16 and fp16 they are computed in fp32 and rounded once, as the device's tensor engine does: fp32 accumulation, one
rounding of the result. Fp32 products are the CPU's own, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch

from .crossing import crossed, returned
from .memory import on_device

LOW = (torch.bfloat16, torch.float16)
_PRODUCTS = {"mm", "bmm", "addmm", "baddbmm", "mv", "addmv", "dot", "vdot", "addbmm", "addr", "_addmm_activation"}
_aten = torch.ops.aten


def kernels() -> dict[str, Callable[..., Any]]:
    """The neuron kernels of this module by operator name."""
    return {
        "convolution_overrideable": _convolution,
        "convolution_backward_overrideable": _convolution_backward,
    }


def is_product(operator: torch._ops.OpOverload) -> bool:
    """Whether the rule of this module concerns `operator`."""
    return _packet_name(operator) in _PRODUCTS


def rounded_once(operator: torch._ops.OpOverload) -> Callable[..., Any]:
    """The product `operator`, on hosts and with its arguments, by the rule of this module."""
    if operator._overloadname == "out":
        return _into(operator, "out")
    if operator._schema.name.endswith("_"):
        return _into(operator, "self")

    def compute(*args: Any, **kwargs: Any) -> Any:
        low = low_type(args)
        if low is None:
            return operator(*args, **kwargs)
        return operator(*[raised(value) for value in args], **kwargs).to(low)

    return compute


def _into(operator: torch._ops.OpOverload, target_name: str) -> Callable[..., Any]:
    functional = getattr(_aten, _packet_name(operator)).default
    names = [argument.name for argument in operator._schema.arguments]

    def compute(*args: Any, **kwargs: Any) -> Any:
        given = {**dict(zip(names, args, strict=False)), **kwargs}
        low = low_type(given.values())
        if low is None:
            return operator(*args, **kwargs)
        target: torch.Tensor = given["self"] if target_name == "self" else given.pop("out")
        result = functional(**{name: raised(value) for name, value in given.items()}).to(low)
        if target.shape != result.shape:
            target.resize_(result.shape)
        return target.copy_(result)

    return compute


def _packet_name(operator: torch._ops.OpOverload) -> str:
    return operator._schema.name.removeprefix("aten::").rstrip("_")


def low_type(values: Iterable[Any]) -> torch.dtype | None:
    """The low type among tensors, None where there is none."""
    return next((value.dtype for value in values if isinstance(value, torch.Tensor) and value.dtype in LOW), None)


def raised(value: Any) -> Any:
    """`value`, in fp32 if it is a tensor of a low type."""
    return value.float() if isinstance(value, torch.Tensor) and value.dtype in LOW else value


def _convolution(input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None, *geometry: Any) -> torch.Tensor:
    operator = _aten.convolution.default
    hosts = [crossed(tensor, operator) for tensor in (input, weight, bias)]
    return on_device(operator(*[raised(host) for host in hosts], *geometry).to(hosts[0].dtype))


def _convolution_backward(grad: torch.Tensor, input: torch.Tensor, weight: torch.Tensor, *geometry: Any) -> Any:
    operator = _aten.convolution_backward.default
    hosts = [crossed(tensor, operator) for tensor in (grad, input, weight)]
    results = operator(*[raised(host) for host in hosts], [grad.shape[1]], *geometry)
    return returned(tuple(None if result is None else result.to(hosts[0].dtype) for result in results))
