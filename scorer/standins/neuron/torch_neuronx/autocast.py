"""``torch.autocast("neuron")``: which operators run in the low type and which in fp32. The lists are torch's own for every device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

KEY = "AutocastPrivateUse1"
_KEYS = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastPrivateUse1)
_libraries: list[torch.library.Library] = []

LOW = (
    "_convolution.deprecated", "_convolution", "conv1d", "conv2d", "conv3d", "conv1d.padding", "conv2d.padding", "conv3d.padding", "conv_tbc",
    "conv_transpose1d", "conv_transpose2d.input", "conv_transpose3d.input", "convolution", "prelu", "addmm", "addmv", "addr", "matmul", "einsum", "mm",
    "mv", "linalg_vecdot", "linear", "addbmm", "baddbmm", "bmm", "chain_matmul", "linalg_multi_dot", "scaled_dot_product_attention",
)  # fmt: skip
FP32 = (
    "acos", "asin", "cosh", "erfinv", "exp", "expm1", "log", "log10", "log2", "log1p", "reciprocal", "rsqrt", "sinh", "tan", "pow.Tensor_Scalar",
    "pow.Tensor_Tensor", "pow.Scalar", "softplus", "layer_norm", "native_layer_norm", "group_norm", "frobenius_norm.dim", "nuclear_norm",
    "nuclear_norm.dim", "cosine_similarity", "poisson_nll_loss", "cosine_embedding_loss", "nll_loss", "nll_loss2d", "hinge_embedding_loss", "kl_div",
    "l1_loss", "smooth_l1_loss", "huber_loss", "mse_loss", "margin_ranking_loss", "multilabel_margin_loss", "soft_margin_loss", "triplet_margin_loss",
    "multi_margin_loss", "binary_cross_entropy_with_logits", "dist", "pdist", "cdist", "renorm", "logsumexp",
)  # fmt: skip
FP32_BY_DTYPE = (
    "prod",
    "prod.dim_int",
    "softmax.int",
    "log_softmax.int",
    "cumprod",
    "cumsum",
    "sum",
    "sum.dim_IntList",
)
PROMOTE = (
    "addcdiv",
    "addcmul",
    "atan2",
    "bilinear",
    "cross",
    "dot",
    "grid_sampler",
    "index_put",
    "tensordot",
    "scatter_add",
    "cat",
    "stack",
)


def register() -> None:
    """Register the rules. An operator in no list runs in the types of its arguments."""
    everything = torch.library.Library("_", "IMPL")
    everything.fallback(torch.library.fallthrough_kernel, KEY)
    library = torch.library.Library("aten", "IMPL")
    _libraries.extend((everything, library))
    for names, rule in ((LOW, _in_low), (FP32, _in_fp32), (FP32_BY_DTYPE, _with_fp32_result), (PROMOTE, _in_widest)):
        for name in names:
            packet, _, overload = name.partition(".")
            library.impl(name, rule(getattr(getattr(torch.ops.aten, packet), overload or "default")), KEY)


def _in_low(operator: Any) -> Callable[..., Any]:
    def kernel(*args: Any, **kwargs: Any) -> Any:
        low = torch.get_autocast_dtype("neuron")
        with torch._C._ExcludeDispatchKeyGuard(_KEYS):
            return operator(
                *[_cast(a, low) for a in args], **{name: _cast(value, low) for name, value in kwargs.items()}
            )

    return kernel


def _in_fp32(operator: Any) -> Callable[..., Any]:
    def kernel(*args: Any, **kwargs: Any) -> Any:
        with torch._C._ExcludeDispatchKeyGuard(_KEYS):
            return operator(
                *[_cast(a, torch.float32) for a in args],
                **{name: _cast(value, torch.float32) for name, value in kwargs.items()},
            )

    return kernel


def _with_fp32_result(operator: Any) -> Callable[..., Any]:
    def kernel(self: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        if _eligible(self) and kwargs.get("dtype") is None:
            kwargs["dtype"] = torch.float32
        with torch._C._ExcludeDispatchKeyGuard(_KEYS):
            return operator(self, *args, **kwargs)

    return kernel


def _in_widest(operator: Any) -> Callable[..., Any]:
    def kernel(*args: Any, **kwargs: Any) -> Any:
        low = torch.get_autocast_dtype("neuron")
        widest = torch.float32 if any(t.dtype == torch.float32 for t in _tensors(args) if _eligible(t)) else low
        with torch._C._ExcludeDispatchKeyGuard(_KEYS):
            return operator(
                *[_cast(a, widest) for a in args], **{name: _cast(value, widest) for name, value in kwargs.items()}
            )

    return kernel


def _eligible(tensor: torch.Tensor) -> bool:
    return not tensor.is_cpu and tensor.is_floating_point() and tensor.dtype != torch.float64


def _tensors(values: Any) -> list[torch.Tensor]:
    found = []
    for value in values:
        if isinstance(value, torch.Tensor):
            found.append(value)
        elif isinstance(value, list | tuple):
            found.extend(_tensors(value))
    return found


def _cast(value: Any, dtype: torch.dtype) -> Any:
    if isinstance(value, torch.Tensor):
        return value.to(dtype) if _eligible(value) else value
    if isinstance(value, list | tuple):
        return [_cast(one, dtype) for one in value]
    return value
