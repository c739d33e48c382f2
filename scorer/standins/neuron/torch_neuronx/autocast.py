"""``torch.autocast("neuron")``: which operators run in the low type, in fp32, or in the widest type of their tensors.

The lists are torch's for every device (ATen/autocast_mode.h). Unlike there, the cast of a weight is not kept for the
weight's next use.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from .memory import DEVICE_TYPE
from .registration import implement, overload, pass_through

KEY = "AutocastPrivateUse1"
_KEYS = torch._C.DispatchKeySet(torch._C._dispatch_key_parse(KEY))

LOW = """
    _convolution.deprecated _convolution conv1d conv2d conv3d conv1d.padding conv2d.padding conv3d.padding conv_tbc
    conv_transpose1d conv_transpose2d.input conv_transpose3d.input convolution prelu addmm addmv addr matmul einsum mm
    mv linalg_vecdot linear addbmm baddbmm bmm chain_matmul linalg_multi_dot lstm_cell gru_cell rnn_tanh_cell
    rnn_relu_cell scaled_dot_product_attention
"""
FP32 = """
    acos asin cosh erfinv exp expm1 log log10 log2 log1p reciprocal rsqrt sinh tan pow.Tensor_Scalar pow.Tensor_Tensor
    pow.Scalar softplus layer_norm native_layer_norm rms_norm group_norm frobenius_norm.dim nuclear_norm
    nuclear_norm.dim cosine_similarity poisson_nll_loss cosine_embedding_loss nll_loss nll_loss2d hinge_embedding_loss
    kl_div l1_loss smooth_l1_loss huber_loss mse_loss margin_ranking_loss multilabel_margin_loss soft_margin_loss
    triplet_margin_loss multi_margin_loss binary_cross_entropy_with_logits dist pdist cdist renorm logsumexp
    upsample_nearest1d upsample_nearest2d upsample_nearest3d _upsample_nearest_exact1d _upsample_nearest_exact2d
    _upsample_nearest_exact3d upsample_linear1d upsample_bilinear2d _upsample_bilinear2d_aa upsample_trilinear3d
    upsample_bicubic2d _upsample_bicubic2d_aa
"""
FP32_RESULT = """
    prod prod.dim_int softmax.int log_softmax.int cumprod cumsum linalg_vector_norm linalg_matrix_norm
    linalg_matrix_norm.str_ord sum sum.dim_IntList
"""
WIDEST = "addcdiv addcmul atan2 bilinear cross dot vdot grid_sampler index_put tensordot scatter_add"


def register() -> None:
    """Register the rules. An operator in no list runs in the types of its tensors."""
    pass_through(KEY)
    for names, rule in ((LOW, _in_low), (FP32, _in_fp32), (FP32_RESULT, _with_fp32_result), (WIDEST, _in_widest)):
        implement({name: rule(overload(name)) for name in names.split()}, KEY)


def _in_low(operator: torch._ops.OpOverload) -> Callable[..., Any]:
    def kernel(*args: Any, **kwargs: Any) -> Any:
        return _run(operator, torch.get_autocast_dtype(DEVICE_TYPE), args, kwargs)

    return kernel


def _in_fp32(operator: torch._ops.OpOverload) -> Callable[..., Any]:
    def kernel(*args: Any, **kwargs: Any) -> Any:
        return _run(operator, torch.float32, args, kwargs)

    return kernel


def _in_widest(operator: torch._ops.OpOverload) -> Callable[..., Any]:
    def kernel(*args: Any, **kwargs: Any) -> Any:
        wide = any(tensor.dtype == torch.float32 for tensor in _eligible((*args, *kwargs.values())))
        return _run(operator, torch.float32 if wide else torch.get_autocast_dtype(DEVICE_TYPE), args, kwargs)

    return kernel


def _with_fp32_result(operator: torch._ops.OpOverload) -> Callable[..., Any]:
    names = [argument.name for argument in operator._schema.arguments]

    def kernel(*args: Any, **kwargs: Any) -> Any:
        given = {**dict(zip(names, args, strict=False)), **kwargs}
        if given.get("dtype") is None and _eligible(args[:1]):
            given["dtype"] = torch.float32
        with torch._C._ExcludeDispatchKeyGuard(_KEYS):
            return operator(**given)

    return kernel


def _run(operator: torch._ops.OpOverload, dtype: torch.dtype, args: Any, kwargs: dict[str, Any]) -> Any:
    with torch._C._ExcludeDispatchKeyGuard(_KEYS):
        return operator(*[_cast(a, dtype) for a in args], **{name: _cast(v, dtype) for name, v in kwargs.items()})


def _cast(value: Any, dtype: torch.dtype) -> Any:
    if isinstance(value, torch.Tensor):
        return value.to(dtype) if _is_eligible(value) else value
    if isinstance(value, list | tuple):
        return [_cast(one, dtype) for one in value]
    return value


def _eligible(values: Any) -> list[torch.Tensor]:
    found: list[torch.Tensor] = []
    for value in values:
        if isinstance(value, torch.Tensor):
            found.extend([value] if _is_eligible(value) else [])
        elif isinstance(value, list | tuple):
            found.extend(_eligible(value))
    return found


def _is_eligible(tensor: torch.Tensor) -> bool:
    return not tensor.is_cpu and tensor.is_floating_point() and tensor.dtype != torch.float64
