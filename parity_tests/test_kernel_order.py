"""The recipe's kernels hold in every order that the engines may choose, not in program order alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import nki
import pytest
import torch
from nki._schedule import check_order
from torch import Tensor

from parity_tests.kernel_checks import neuron, random
from recipe.kernels.causal_convolution import NkiCausalConvolution
from recipe.kernels.flash_attention import NkiAttention
from recipe.kernels.fused_mlp import NkiFusedGatedMLP, NkiFusedMLP
from recipe.kernels.head_cross_entropy import NkiHeadCrossEntropy
from recipe.kernels.relu_squared import NkiReLUSquared
from recipe.kernels.rms_norm import NkiRMSNorm
from recipe.kernels.rotary_qk_norm import NkiRotaryQKNorm, rotary_tables
from recipe.kernels.softcap_cross_entropy import NkiSoftcapCrossEntropy
from recipe.kernels.swiglu import NkiSwiGLU


def given(*shapes: tuple[int, ...]) -> list[Tensor]:
    """bf16 tensors on the device that want gradients."""
    tensors = neuron(*(random(*shape, dtype=torch.bfloat16, seed=seed) for seed, shape in enumerate(shapes)))
    return [tensor.requires_grad_() for tensor in tensors]


def rotary() -> Tensor:
    q, k = NkiRotaryQKNorm(1e-6, 2)(
        *given((2, 130, 2, 8), (2, 130, 2, 8)), *neuron(*rotary_tables(130, 8, 1e4, torch.device("cpu")))
    )
    return torch.cat([q, k])


def targets(rows: int) -> Tensor:
    return (torch.arange(rows) % 7).to("neuron")


RUNS: dict[str, Callable[[], Tensor]] = {
    "rms_norm": lambda: NkiRMSNorm(48, 1e-6, 2).to("neuron")(*given((300, 48))),
    "rotary_qk_norm": rotary,
    "relu_squared": lambda: NkiReLUSquared(2)(*given((600, 300))),
    "swiglu": lambda: NkiSwiGLU(2)(*given((130, 2100), (130, 2100))),
    "softcap_cross_entropy": lambda: NkiSoftcapCrossEntropy(15.0, 2)(*given((300, 2100)), targets(300)),
    "cross_entropy": lambda: NkiSoftcapCrossEntropy(0.0, 2)(*given((300, 2100)), targets(300)),
    "head_cross_entropy": lambda: NkiHeadCrossEntropy(15.0, 1)(*given((260, 130), (600, 130)), targets(260)),
    "fused_mlp": lambda: NkiFusedMLP(1)(*given((260, 130), (140, 130), (130, 140))),
    "fused_gated_mlp": lambda: NkiFusedGatedMLP(1)(*given((140, 130), (140, 130), (140, 130), (130, 140))),
    "flash_attention": lambda: NkiAttention(200, 2)(*given((1, 2, 600, 16), (1, 2, 600, 16), (1, 2, 600, 16))),
    "causal_convolution": lambda: NkiCausalConvolution(40, 3, 2).to("neuron")(*given((2, 200, 40))),
}


@pytest.mark.parametrize("name", RUNS)
def test_a_kernel_holds_in_other_orders(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    launches: list[tuple[Any, dict[str, Any]]] = []
    call = nki.Kernel.__call__

    def noted(kernel: Any, *args: Any, **named: Any) -> Any:
        launches.append((kernel, {key: as_array(value) for key, value in named.items()}))
        return call(kernel, *args, **named)

    with monkeypatch.context() as patched:
        patched.setattr(nki.Kernel, "__call__", noted)
        RUNS[name]().float().sum().backward()
    assert len(launches) == 2
    for kernel, named in launches:
        assert check_order(kernel, **named) > 0


def as_array(value: Any) -> Any:
    """A copy for another launch, in plain memory."""
    return value.detach().cpu().clone() if isinstance(value, Tensor) else value
