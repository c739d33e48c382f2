"""Runs every kernel of the recipe by `nki.simulate` of whichever `nki` is importable: sdk_kernels.py OUT.npz.

The inputs are the same on every machine. OUT.npz holds "kernel/lnc/number of the result", each as fp32, and the dtypes
that the results had. Run with the stand-in first on PYTHONPATH, or without it where the Neuron SDK is installed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import nki
import numpy as np

from recipe.kernels.adamw import adamw_scalars, adamw_step
from recipe.kernels.causal_convolution import causal_convolution_backward, causal_convolution_forward
from recipe.kernels.embedding import embedding_gather, embedding_scatter_add
from recipe.kernels.flash_attention import flash_attention_backward, flash_attention_forward
from recipe.kernels.fp8_projection import fp8_projection_forward
from recipe.kernels.fused_mlp import (
    fused_gated_mlp_backward,
    fused_gated_mlp_forward,
    fused_mlp_backward,
    fused_mlp_forward,
)
from recipe.kernels.head_cross_entropy import head_cross_entropy_backward, head_cross_entropy_forward
from recipe.kernels.linear_backward import input_gradient, weight_gradient
from recipe.kernels.newton_schulz import QUINTIC, newton_schulz
from recipe.kernels.ngram_mix import ngram_mix_backward, ngram_mix_forward
from recipe.kernels.relu_squared import relu_squared_backward, relu_squared_forward
from recipe.kernels.rms_norm import rms_norm_backward, rms_norm_forward
from recipe.kernels.rotary_qk_norm import rotary_qk_norm_backward, rotary_qk_norm_forward
from recipe.kernels.softcap_cross_entropy import softcap_cross_entropy_backward, softcap_cross_entropy_forward
from recipe.kernels.swiglu import swiglu_backward, swiglu_forward
from recipe.kernels.weight_average import weight_average_step

Array = np.ndarray[Any, Any]
Run = Callable[..., tuple[Array, ...]]


def inputs(dtype: Any) -> Callable[..., Array]:
    """Normal numbers of a shape, others at each call."""
    generator = np.random.default_rng(7)
    return lambda *shape, scale=1.0: (generator.standard_normal(shape) * scale).astype(dtype)


def operations(run: Run, dtype: Any) -> Iterator[tuple[str, tuple[Array, ...]]]:
    """Name and results of each of the other kernels, forward and backward."""
    some, wide = inputs(dtype), inputs(np.float32)
    x, dy, weight = some(200, 96), some(200, 96), 1 + wide(96, scale=0.1)
    y, rstd = run(rms_norm_forward, x=x, weight=weight, eps=1e-6)
    yield "rms_norm_forward", (y, rstd)
    yield "rms_norm_backward", run(rms_norm_backward, dy=dy, x=x, weight=weight, rstd=rstd)
    yield "relu_squared_forward", run(relu_squared_forward, x=x)
    yield "relu_squared_backward", run(relu_squared_backward, dy=dy, x=x)
    yield "swiglu_forward", run(swiglu_forward, gate=x, up=dy)
    yield "swiglu_backward", run(swiglu_backward, dy=y, gate=x, up=dy)
    q, k, v, dq, dk = (some(2, 130, 2, 32) for _ in range(5))
    angles = np.arange(130)[:, None] / 100 ** (np.arange(32) % 16 / 16)
    cos, sin = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
    rotated = run(rotary_qk_norm_forward, q=q, k=k, cos=cos, sin=sin, eps=1e-6)
    yield "rotary_qk_norm_forward", rotated
    back = {"dq_out": dq, "dk_out": dk, "q": q, "k": k, "cos": cos, "sin": sin, "rstd": rotated[2]}
    yield "rotary_qk_norm_backward", run(rotary_qk_norm_backward, **back)
    attended, lse = run(flash_attention_forward, q=q, k=k, v=v, window=64)
    yield "flash_attention_forward", (attended, lse)
    back = {"dy": dq, "q": q, "k": k, "v": v, "y": attended, "lse": lse, "window": 64}
    yield "flash_attention_backward", run(flash_attention_backward, **back)
    rows, taps = some(2, 130, 64), wide(3, 64)
    yield "causal_convolution_forward", run(causal_convolution_forward, x=rows, weight=taps)
    yield "causal_convolution_backward", run(causal_convolution_backward, dy=rows, x=rows, weight=taps)
    logits = some(130, 600, scale=8.0)
    targets = (np.arange(130, dtype=np.int32)[:, None] * 7) % 600
    losses, lse = run(softcap_cross_entropy_forward, logits=logits, targets=targets, cap=15.0)
    yield "softcap_cross_entropy_forward", (losses, lse)
    back = {"dlosses": np.full_like(losses, 1 / 130), "logits": logits, "targets": targets, "lse": lse, "cap": 15.0}
    yield "softcap_cross_entropy_backward", run(softcap_cross_entropy_backward, **back)


def products(run: Run, dtype: Any) -> Iterator[tuple[str, tuple[Array, ...]]]:
    """Those that multiply matrices."""
    some, wide = inputs(dtype), inputs(np.float32)
    x, dy, slopes = some(200, 96), some(200, 96), some(200, 140)
    up, gate_up, down = some(96, 140, scale=0.1), some(96, 280, scale=0.1), some(140, 96, scale=0.1)
    back = {"dy": dy, "x": x, "down": np.ascontiguousarray(down.T)}
    yield "fused_mlp_forward", run(fused_mlp_forward, x=x, up=up, down=down)
    yield "fused_mlp_backward", run(fused_mlp_backward, up=up, **back)
    yield "fused_gated_mlp_forward", run(fused_gated_mlp_forward, x=x, both=gate_up, down=down)
    yield "fused_gated_mlp_backward", run(fused_gated_mlp_backward, both=gate_up, **back)
    yield "fp8_projection_forward", run(fp8_projection_forward, x=x, weight=wide(140, 96))
    yield "input_gradient", run(input_gradient, dy=slopes, weight=down)
    yield "weight_gradient", run(weight_gradient, dy=slopes, x=x)
    shapes = ((40, 140), (140, 40), (140, 130))  # in fp32, the first two by their Gram matrices
    matrices = some(sum(rows * columns for rows, columns in shapes))
    steps = {"shapes": shapes, "coefficients": QUINTIC[:2], "margin": 1.0}
    yield "newton_schulz", run(newton_schulz, matrices=matrices, **steps)
    head, targets = some(600, 96, scale=0.8), (np.arange(200, dtype=np.int32)[:, None] * 7) % 600
    given = {"x": x, "turned": np.ascontiguousarray(head.T), "targets": targets, "cap": 15.0}
    losses, lse = run(head_cross_entropy_forward, **given)
    yield "head_cross_entropy_forward", (losses, lse)
    back = {"dlosses": np.full_like(losses, 1 / 200), "weight": head, "lse": lse}
    yield "head_cross_entropy_backward", run(head_cross_entropy_backward, **given, **back)


def tables(run: Run, dtype: Any) -> Iterator[tuple[str, tuple[Array, ...]]]:
    """Those that look rows up, and those that go through flat tensors, in place."""
    some, wide = inputs(dtype), inputs(np.float32)
    tokens, low = (np.arange(200, dtype=np.int32)[:, None] * 11) % 70, dtype == ml_dtypes.bfloat16
    yield "embedding_gather", run(embedding_gather, tokens=tokens, table=wide(70, 40), low=low)
    added = {"drows": some(200, 40), "tokens": tokens, "dtable": wide(70, 40)}
    yield "embedding_scatter_add", run(embedding_scatter_add, **added)
    followers = np.stack([np.roll(np.arange(30, dtype=np.int32), row)[:5] for row in range(9)])
    rows = {"row": tokens % 9, "follower": followers, "probability": np.abs(some(9, 5))}
    given = {"losses": np.abs(wide(200, 1)), "targets": tokens % 30, "factor": np.abs(wide(200, 1))}
    mixed, slopes = run(ngram_mix_forward, **given, **rows)
    yield "ngram_mix_forward", (mixed, slopes)
    yield "ngram_mix_backward", run(ngram_mix_backward, dmixed=wide(200, 1), slopes=slopes)
    state = {"parameter": wide(1000), "gradient": wide(1000), "mean": some(1000), "square": np.abs(some(1000))}
    scalars = np.tile(np.array(adamw_scalars([(0.1, 0.1), (0.02, 0.0)], (0.8, 0.95), 3), np.float32), (128, 1))
    rates = {"scalars": scalars, "segments": ((0, 300), (300, 1000)), "beta1": 0.8, "beta2": 0.95, "eps": 1e-10}
    yield "adamw_step", run(adamw_step, **state, **rates)
    averaged = {"average": wide(1000), "value": wide(1000), "weight": np.full((128, 1), 0.3, np.float32)}
    yield "weight_average_step", run(weight_average_step, **averaged)


def main() -> None:
    """Run all in both dtypes, on one core and on two, and write the results."""
    found: dict[str, Array] = {}
    for name, dtype in (("float32", np.float32), ("bfloat16", ml_dtypes.bfloat16)):
        for cores in (1, 2):

            def run(kernel: Any, cores: int = cores, **arguments: Any) -> tuple[Array, ...]:
                results = nki.simulate(kernel[cores])(**arguments)
                return results if isinstance(results, tuple) else (results,)

            for kernel, results in (*operations(run, dtype), *products(run, dtype), *tables(run, dtype)):
                for number, result in enumerate(results):
                    found[f"{kernel}[{cores}] {name}, result {number}, {result.dtype}"] = result.astype(np.float32)
    np.savez(sys.argv[1], **found)  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
