"""Scaled dot product attention: the algorithm that torch chooses on the CPU, its fused one where it applies.

The rule for low types is that of matrix products: computed in fp32, the result rounded once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor, unset_fake_temporarily

from .crossing import crossed
from .memory import host_of, on_device
from .products import raised
from .registration import NEURON, implement

_aten = torch.ops.aten
_choose: Callable[..., int] = torch._fused_sdp_choice
_FUSED = int(torch._C._SDPBackend.FLASH_ATTENTION.value)


def kernels() -> dict[str, Callable[..., Any]]:
    """The neuron kernels of this module by operator name."""
    return {
        "_scaled_dot_product_flash_attention_for_cpu": _forward,
        "_scaled_dot_product_flash_attention_for_cpu_backward": _backward,
    }


def register() -> None:
    """Replace torch's choice, which knows no fused algorithm for a device of this kind. Autograd sees the algorithm."""
    for key in (NEURON, "AutogradPrivateUse1"):
        implement({"scaled_dot_product_attention": _attention}, key)


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
    tensors = (query, key, value, attn_mask)
    if isinstance(query, FakeTensor):  # torch.compile is tracing
        with unset_fake_temporarily():
            twins = [None if tensor is None else _like(tensor) for tensor in tensors]
            choice = _choose(*twins, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)
    else:
        twins = [tensor if tensor is None or tensor.is_cpu else host_of(tensor) for tensor in tensors]
        choice = _choose(*twins, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)
    mask_learns = attn_mask is not None and attn_mask.requires_grad and torch.is_grad_enabled()
    output: torch.Tensor
    if choice == _FUSED and not mask_learns:
        fused = _aten._scaled_dot_product_flash_attention_for_cpu.default
        mask = _additive(attn_mask, query.dtype)
        output = fused(query, key, value, dropout_p, is_causal, attn_mask=mask, scale=scale)[0]
    else:
        composed = _aten._scaled_dot_product_attention_math.default
        output = composed(query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)[0]
    return output


def _like(fake: torch.Tensor) -> torch.Tensor:
    shape, stride = [int(size) for size in fake.shape], [int(step) for step in fake.stride()]
    return torch.empty_strided(shape, stride, dtype=fake.dtype, device="cpu")


def _additive(mask: torch.Tensor | None, dtype: torch.dtype) -> torch.Tensor | None:
    if mask is None or mask.dtype != torch.bool:
        return mask
    return torch.zeros_like(mask, dtype=dtype).masked_fill(mask.logical_not(), float("-inf"))


def _forward(
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
    hosts = [raised(crossed(tensor, operator)) for tensor in (query, key, value)]
    mask = raised(crossed(attn_mask, operator))
    output, logsumexp = operator(*hosts, dropout_p, is_causal, attn_mask=mask, scale=scale)
    return on_device(output.to(query.dtype)), on_device(logsumexp)


def _backward(
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
    hosts = [raised(crossed(tensor, operator)) for tensor in (grad_out, query, key, value, out, logsumexp)]
    mask = raised(crossed(attn_mask, operator))
    grads = operator(*hosts, dropout_p, is_causal, attn_mask=mask, scale=scale)
    return tuple(on_device(grad.to(query.dtype)) for grad in grads)
