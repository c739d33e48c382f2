"""One step of every kernel file of the recipe, by its kernels and by torch, for whoever runs them all.

A new file of `recipe/kernels` joins by an entry of `CASES`; a test holds that each has one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from recipe.kernels.adamw import adamw_reference, adamw_scalars, nki_adamw
from recipe.kernels.causal_convolution import NkiCausalConvolution, causal_convolution_reference
from recipe.kernels.embedding import NkiEmbedding, embedding_reference
from recipe.kernels.flash_attention import NkiAttention, attention_reference
from recipe.kernels.fp8_projection import NkiFp8Projection, TorchFp8Projection
from recipe.kernels.fused_mlp import (
    NkiFusedGatedMLP,
    NkiFusedMLP,
    fused_gated_mlp_reference,
    fused_mlp_reference,
)
from recipe.kernels.head_cross_entropy import NkiHeadCrossEntropy, head_cross_entropy_reference
from recipe.kernels.linear_backward import (
    input_gradient_reference,
    nki_input_gradient,
    nki_weight_gradient,
    weight_gradient_reference,
)
from recipe.kernels.newton_schulz import QUINTIC, NkiNewtonSchulz, TorchNewtonSchulz
from recipe.kernels.ngram_mix import NkiNgramMix, TorchNgramMix
from recipe.kernels.relu_squared import NkiReLUSquared, relu_squared_reference
from recipe.kernels.rms_norm import NkiRMSNorm, rms_norm_reference
from recipe.kernels.rotary_qk_norm import NkiRotaryQKNorm, rotary_norm_reference, rotary_tables
from recipe.kernels.softcap_cross_entropy import NkiSoftcapCrossEntropy, softcap_cross_entropy_reference
from recipe.kernels.swiglu import NkiSwiGLU, swiglu_reference
from recipe.kernels.weight_average import NkiWeightAverage, TorchWeightAverage

EPS, CAP, MARGIN = 1e-6, 15.0, 1.0

Step = Callable[[], object]
Result = Tensor | Sequence[Tensor]


@dataclass(frozen=True)
class Size:
    """What the shapes follow from."""

    batch: int
    positions: int
    heads: int
    head_dim: int
    hidden: int
    vocabulary: int
    dtype: torch.dtype
    lnc: int

    @property
    def width(self) -> int:
        return self.heads * self.head_dim

    def rows(self, *last: int) -> tuple[int, ...]:
        """[batch, positions, ...]"""
        return (self.batch, self.positions, *last)


@dataclass(frozen=True)
class Case:
    """Both ways to make one step, forward and backward where there is a backward pass."""

    kind: Literal["elements", "matmul"]
    make: Callable[[Size], tuple[Step, Step]]


def numbers(*shape: int, dtype: torch.dtype = torch.float32, scale: float = 1.0, seed: int = 0) -> Tensor:
    """Normal numbers on the device."""
    generator = torch.Generator().manual_seed(seed)
    return (torch.randn(*shape, generator=generator) * scale).to(dtype).to("neuron")


def _both(
    kernels: Callable[..., Result], reference: Callable[..., Result], inputs: Sequence[Tensor], *rest: object
) -> tuple[Step, Step]:
    """Forward, and backward to every one of `inputs`."""
    leaves = [tensor.requires_grad_() for tensor in inputs]

    def step(function: Callable[..., Result]) -> Step:
        def run() -> None:
            found = function(*leaves, *rest)
            outputs = [found] if isinstance(found, Tensor) else list(found)
            torch.autograd.backward(outputs, [torch.ones_like(output) for output in outputs])

        return run

    return step(kernels), step(reference)


def _causal_convolution(size: Size) -> tuple[Step, Step]:
    module = NkiCausalConvolution(channels=size.width, taps=4, lnc=size.lnc).to("neuron")
    x = numbers(*size.rows(size.width), dtype=size.dtype)
    return _both(module, lambda x: causal_convolution_reference(x, module.weight), [x])


def _embedding(size: Size) -> tuple[Step, Step]:
    module = NkiEmbedding(size.vocabulary, size.width, size.dtype, size.lnc).to("neuron")
    tokens = _targets(size).long()
    return _both(
        lambda table: module(tokens), lambda table: embedding_reference(tokens, table, size.dtype), [module.weight]
    )


def _fp8_projection(size: Size) -> tuple[Step, Step]:
    x = numbers(*size.rows(size.width), dtype=size.dtype)
    kernels = NkiFp8Projection(size.width, size.hidden, size.lnc).to("neuron")
    reference = TorchFp8Projection(size.width, size.hidden).to("neuron")
    return _both(kernels, reference, [x])


def _flash_attention(size: Size) -> tuple[Step, Step]:
    module = NkiAttention(window=0, lnc=size.lnc)
    q, k, v = (
        numbers(size.batch, size.heads, size.positions, size.head_dim, dtype=size.dtype, seed=seed) for seed in range(3)
    )
    return _both(module, lambda q, k, v: attention_reference(q, k, v, 0), [q, k, v])


def _fused_mlp(size: Size) -> tuple[Step, Step]:
    x = numbers(*size.rows(size.width), dtype=size.dtype)
    up, down = numbers(size.hidden, size.width, scale=0.05), numbers(size.width, size.hidden, scale=0.05, seed=1)
    return _both(NkiFusedMLP(lnc=size.lnc), fused_mlp_reference, [x, up, down])


def _fused_gated_mlp(size: Size) -> tuple[Step, Step]:
    x = numbers(*size.rows(size.width), dtype=size.dtype)
    gate, up = (numbers(size.hidden, size.width, scale=0.05, seed=seed) for seed in range(2))
    down = numbers(size.width, size.hidden, scale=0.05, seed=2)
    return _both(NkiFusedGatedMLP(lnc=size.lnc), fused_gated_mlp_reference, [x, gate, up, down])


def _head_cross_entropy(size: Size) -> tuple[Step, Step]:
    x = numbers(*size.rows(size.width), dtype=size.dtype)
    weight = numbers(size.vocabulary, size.width, scale=0.05, seed=1)
    module = NkiHeadCrossEntropy(cap=CAP, lnc=size.lnc)
    return _both(
        lambda *given: module(*given)[0],
        lambda *given: head_cross_entropy_reference(*given, CAP),
        [x, weight],
        _targets(size),
    )


def _linear_backward(size: Size) -> tuple[Step, Step]:
    rows = size.batch * size.positions
    dy, x = numbers(rows, size.hidden, dtype=size.dtype), numbers(rows, size.width, dtype=size.dtype, seed=1)
    weight = numbers(size.hidden, size.width, scale=0.05, seed=2)

    def kernels() -> None:
        nki_input_gradient(dy, weight, size.lnc), nki_weight_gradient(dy, x, torch.float32, size.lnc)

    def reference() -> None:
        input_gradient_reference(dy, weight), weight_gradient_reference(dy, x, torch.float32)

    return kernels, reference


def _newton_schulz(size: Size) -> tuple[Step, Step]:
    shapes = 2 * [(size.width, size.width), (size.hidden, size.width)]  # one of each for each core
    matrices = [numbers(*shape, seed=seed) for seed, shape in enumerate(shapes)]
    kernels = NkiNewtonSchulz(QUINTIC, MARGIN, size.dtype, size.lnc)
    reference = TorchNewtonSchulz(QUINTIC, MARGIN, size.dtype)
    return lambda: kernels(matrices), lambda: reference(matrices)


def _ngram_mix(size: Size) -> tuple[Step, Step]:
    losses = numbers(size.batch, size.positions)
    kernels = NkiNgramMix(1, size.vocabulary, 16, size.lnc).to("neuron")
    reference = TorchNgramMix(1, size.vocabulary, 16).to("neuron")
    row = _targets(size)
    return _both(kernels.losses, reference.losses, [losses], row, row, torch.zeros_like(row))


def _relu_squared(size: Size) -> tuple[Step, Step]:
    x = numbers(*size.rows(size.hidden), dtype=size.dtype)
    return _both(NkiReLUSquared(lnc=size.lnc), relu_squared_reference, [x])


def _rms_norm(size: Size) -> tuple[Step, Step]:
    module = NkiRMSNorm(width=size.width, eps=EPS, lnc=size.lnc).to("neuron")
    x = numbers(*size.rows(size.width), dtype=size.dtype)
    return _both(module, lambda x: rms_norm_reference(x, module.weight, EPS), [x])


def _rotary_qk_norm(size: Size) -> tuple[Step, Step]:
    q, k = (numbers(*size.rows(size.heads, size.head_dim), dtype=size.dtype, seed=seed) for seed in range(2))
    cos, sin = rotary_tables(size.positions, size.head_dim, 10_000.0, torch.device("neuron"))

    def reference(q: Tensor, k: Tensor) -> Sequence[Tensor]:
        return [rotary_norm_reference(x, cos, sin, EPS) for x in (q, k)]

    module = NkiRotaryQKNorm(eps=EPS, lnc=size.lnc)
    return _both(lambda q, k: module(q, k, cos, sin), reference, [q, k])


def _softcap_cross_entropy(size: Size) -> tuple[Step, Step]:
    logits = numbers(*size.rows(size.vocabulary), dtype=size.dtype, scale=4.0)
    module = NkiSoftcapCrossEntropy(cap=CAP, lnc=size.lnc)
    return _both(
        lambda *given: module(*given)[0],
        lambda *given: softcap_cross_entropy_reference(*given, CAP),
        [logits],
        _targets(size),
    )


def _swiglu(size: Size) -> tuple[Step, Step]:
    gate, up = (numbers(*size.rows(size.hidden), dtype=size.dtype, seed=seed) for seed in range(2))
    return _both(NkiSwiGLU(lnc=size.lnc), swiglu_reference, [gate, up])


def _adamw(size: Size) -> tuple[Step, Step]:
    count = size.vocabulary * size.width
    parameter, gradient, mean, square = (numbers(count, scale=0.1, seed=seed) for seed in range(4))
    square = square.abs()
    betas, scalars = (0.9, 0.95), adamw_scalars([(0.01, 0.1)], (0.9, 0.95), 3)

    def reference() -> None:
        adamw_reference(parameter, gradient, mean, square, 3, 0.01, 0.1, betas, 1e-8)

    def kernels() -> None:
        nki_adamw(parameter, gradient, mean, square, ((0, count),), scalars, betas, 1e-8, size.lnc)

    return kernels, reference


def _weight_average(size: Size) -> tuple[Step, Step]:
    average, value = (numbers(size.vocabulary * size.width, seed=seed) for seed in range(2))
    kernels, reference = NkiWeightAverage(lnc=size.lnc), TorchWeightAverage()
    return lambda: kernels(average, value, 0.1), lambda: reference(average, value, 0.1)


def _targets(size: Size) -> Tensor:
    generator = torch.Generator().manual_seed(9)
    return torch.randint(size.vocabulary, size.rows(), generator=generator, dtype=torch.int32).to("neuron")


CASES = {
    "adamw": Case("elements", _adamw),
    "causal_convolution": Case("elements", _causal_convolution),
    "embedding": Case("elements", _embedding),
    "flash_attention": Case("matmul", _flash_attention),
    "fp8_projection": Case("matmul", _fp8_projection),
    "fused_mlp": Case("matmul", _fused_mlp),
    "fused_mlp, gated": Case("matmul", _fused_gated_mlp),
    "head_cross_entropy": Case("matmul", _head_cross_entropy),
    "linear_backward": Case("matmul", _linear_backward),
    "newton_schulz": Case("matmul", _newton_schulz),
    "ngram_mix": Case("elements", _ngram_mix),
    "relu_squared": Case("elements", _relu_squared),
    "rms_norm": Case("elements", _rms_norm),
    "rotary_qk_norm": Case("elements", _rotary_qk_norm),
    "softcap_cross_entropy": Case("elements", _softcap_cross_entropy),
    "swiglu": Case("elements", _swiglu),
    "weight_average": Case("elements", _weight_average),
}
"""By the file of recipe/kernels, and what of it."""
