"""Matrix products, convolution and attention.

In bf16 and fp16 they are computed in fp32 and rounded once, as the device's tensor engine does: fp32 accumulation, one
rounding of the result. Fp32 products are the CPU's own, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor, unset_fake_temporarily

from .crossing import crossed, returned
from .memory import host_of, on_device

LOW = (torch.bfloat16, torch.float16)
_PRODUCTS = frozenset("mm bmm addmm baddbmm mv addmv dot vdot addbmm addr _addmm_activation".split())
_aten = torch.ops.aten
_FLASH = int(torch._C._SDPBackend.FLASH_ATTENTION.value)


def kernels() -> dict[str, Callable[..., Any]]:
    """The neuron kernels of this module by operator name."""
    return {
        "convolution_overrideable": _convolution,
        "convolution_backward_overrideable": _convolution_backward,
        "_scaled_dot_product_flash_attention_for_cpu": _attention_forward,
        "_scaled_dot_product_flash_attention_for_cpu_backward": _attention_backward,
    }


def rounded_once(operator: torch._ops.OpOverload) -> Callable[..., Any]:
    """`operator` on hosts; for a matrix product, a function of the same arguments that follows the rule of this module."""
    name = operator._schema.name.removeprefix("aten::")
    if name.rstrip("_") not in _PRODUCTS:
        return operator
    if operator._overloadname == "out":
        return _into(operator, "out")
    if name.endswith("_"):
        return _into(operator, "self")

    def compute(*args: Any, **kwargs: Any) -> Any:
        low = _low_type(args)
        if low is None:
            return operator(*args, **kwargs)
        return operator(*[_raised(value) for value in args], **kwargs).to(low)

    return compute


def _into(operator: torch._ops.OpOverload, target_name: str) -> Callable[..., Any]:
    functional = getattr(_aten, operator._schema.name.removeprefix("aten::").rstrip("_")).default
    names = [argument.name for argument in operator._schema.arguments]

    def compute(*args: Any, **kwargs: Any) -> Any:
        given = {**dict(zip(names, args, strict=False)), **kwargs}
        low = _low_type(given.values())
        if low is None:
            return operator(*args, **kwargs)
        target = given["self"] if target_name == "self" else given.pop("out")
        result = functional(**{name: _raised(value) for name, value in given.items()}).to(low)
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


# --- convolution --------------------------------------------------------------------------------------------------


def _convolution(input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None, *geometry: Any) -> torch.Tensor:
    operator = _aten.convolution.default
    hosts = [crossed(tensor, operator) for tensor in (input, weight, bias)]
    return on_device(operator(*[_raised(host) for host in hosts], *geometry).to(hosts[0].dtype))


def _convolution_backward(grad: torch.Tensor, input: torch.Tensor, weight: torch.Tensor, *geometry: Any) -> Any:
    operator = _aten.convolution_backward.default
    hosts = [crossed(tensor, operator) for tensor in (grad, input, weight)]
    *shape, wanted = geometry
    results = operator(*[_raised(host) for host in hosts], [grad.shape[1]], *shape, wanted)
    return returned(tuple(None if result is None else result.to(hosts[0].dtype) for result in results))


# --- scaled dot product attention ----------------------------------------------------------------------------------


def register_attention(libraries: list[torch.library.Library]) -> None:
    """Let ``scaled_dot_product_attention`` choose its algorithm as it does on the CPU, which has torch's fused one."""
    library = torch.library.Library("aten", "IMPL")
    libraries.append(library)
    for key in ("PrivateUse1", "AutogradPrivateUse1"):
        library.impl("scaled_dot_product_attention", _attention, key)


def _attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> torch.Tensor:
    choice = _algorithm(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)
    if choice == _FLASH and not (attn_mask is not None and attn_mask.requires_grad and torch.is_grad_enabled()):
        if attn_mask is not None and attn_mask.dtype == torch.bool:
            zeros = torch.zeros_like(attn_mask, dtype=query.dtype)
            attn_mask = zeros.masked_fill(attn_mask.logical_not(), float("-inf"))
        fused = _aten._scaled_dot_product_flash_attention_for_cpu.default
        output: torch.Tensor = fused(query, key, value, dropout_p, is_causal, attn_mask=attn_mask, scale=scale)[0]
        return output
    composed = _aten._scaled_dot_product_attention_math.default
    output = composed(query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)[0]
    return output


def _algorithm(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None,
    dropout_p: float,
    is_causal: bool,
    scale: float | None,
    enable_gqa: bool,
) -> int:
    """What torch would choose for CPU tensors of these layouts and types."""
    tensors = (query, key, value, attn_mask)
    if isinstance(query, FakeTensor):  # torch.compile is tracing
        with unset_fake_temporarily():
            hosts = [None if t is None else _like(t) for t in tensors]
            return torch._fused_sdp_choice(*hosts, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)
    hosts = [t if t is None or t.is_cpu else host_of(t) for t in tensors]
    return torch._fused_sdp_choice(*hosts, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)


def _like(fake: torch.Tensor) -> torch.Tensor:
    shape, stride = [int(size) for size in fake.shape], [int(step) for step in fake.stride()]
    return torch.empty_strided(shape, stride, dtype=fake.dtype, device="cpu")


def _attention_forward(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    attn_mask: torch.Tensor | None = None,
    scale: float | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    operator = _aten._scaled_dot_product_flash_attention_for_cpu.default
    hosts = [_raised(crossed(tensor, operator)) for tensor in (query, key, value)]
    mask = _raised(crossed(attn_mask, operator))
    output, logsumexp = operator(*hosts, dropout_p, is_causal, attn_mask=mask, scale=scale)
    return on_device(output.to(query.dtype)), on_device(logsumexp)


def _attention_backward(
    grad_out: torch.Tensor,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    out: torch.Tensor,
    logsumexp: torch.Tensor,
    dropout_p: float,
    is_causal: bool,
    *,
    attn_mask: torch.Tensor | None = None,
    scale: float | None = None,
) -> tuple[torch.Tensor, ...]:
    operator = _aten._scaled_dot_product_flash_attention_for_cpu_backward.default
    hosts = [_raised(crossed(tensor, operator)) for tensor in (grad_out, query, key, value, out, logsumexp)]
    mask = _raised(crossed(attn_mask, operator))
    grads = operator(*hosts, dropout_p, is_causal, attn_mask=mask, scale=scale)
    return tuple(on_device(grad.to(query.dtype)) for grad in grads)
