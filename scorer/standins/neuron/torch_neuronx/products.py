"""Matrix products in bf16 and fp16: computed in fp32 and rounded once, as the device's tensor engine does (fp32 accumulation, one rounding)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

LOW = (torch.bfloat16, torch.float16)
NAMES = frozenset({
    "mm", "bmm", "addmm", "addmm_", "baddbmm", "baddbmm_", "mv", "addmv", "addmv_", "dot", "vdot", "addbmm", "addbmm_", "addr", "addr_", "ger", "outer",
    "_addmm_activation", "convolution", "convolution_backward",
    "_scaled_dot_product_flash_attention_for_cpu", "_scaled_dot_product_flash_attention_for_cpu_backward",
})  # fmt: skip


def rounded_once(operator: torch._ops.OpOverload) -> Callable[..., Any]:
    """`operator` itself, or, for a matrix product, a function of the same arguments that follows the rule of this module."""
    if operator._schema.name.removeprefix("aten::") not in NAMES:
        return operator
    if any(a.alias_info is not None and a.alias_info.is_write for a in operator._schema.arguments):
        return _writing(operator)

    def compute(*args: Any, **kwargs: Any) -> Any:
        low = _low_type(args)
        if low is None:
            return operator(*args, **kwargs)
        return _rounded(operator(*[_raised(a) for a in args], **kwargs), low)

    return compute


def _writing(operator: torch._ops.OpOverload) -> Callable[..., Any]:
    packet = getattr(torch.ops.aten, operator._schema.name.removeprefix("aten::").rstrip("_"))
    functional = packet.default

    def compute(*args: Any, **kwargs: Any) -> Any:
        target = kwargs.pop("out") if "out" in kwargs else args[0]
        low = _low_type((*args, *kwargs.values()))
        if low is None:
            return (
                operator(*args, **kwargs, out=target)
                if operator._schema.arguments[-1].is_out
                else operator(*args, **kwargs)
            )
        result = _rounded(
            functional(*[_raised(a) for a in args], **{name: _raised(value) for name, value in kwargs.items()}), low
        )
        if target.shape != result.shape:
            target.resize_(result.shape)
        return target.copy_(result)

    return compute


def _low_type(values: Any) -> torch.dtype | None:
    for value in values:
        if isinstance(value, torch.Tensor) and value.dtype in LOW:
            return value.dtype
    return None


def _raised(value: Any) -> Any:
    return value.float() if isinstance(value, torch.Tensor) and value.dtype in LOW else value


def _rounded(value: Any, low: torch.dtype) -> Any:
    if isinstance(value, torch.Tensor):
        return value.to(low)
    if isinstance(value, tuple | list):
        return tuple(_rounded(one, low) for one in value)
    return value
