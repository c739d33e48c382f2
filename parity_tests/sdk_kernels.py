"""Runs fourteen kernels of the recipe by `nki.simulate` of whichever `nki` is importable: sdk_kernels.py OUT.npz.

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

from recipe.kernels.causal_convolution import causal_convolution_backward, causal_convolution_forward
from recipe.kernels.flash_attention import flash_attention_backward, flash_attention_forward
from recipe.kernels.relu_squared import relu_squared_backward, relu_squared_forward
from recipe.kernels.rms_norm import rms_norm_backward, rms_norm_forward
from recipe.kernels.rotary_qk_norm import rotary_qk_norm_backward, rotary_qk_norm_forward
from recipe.kernels.softcap_cross_entropy import softcap_cross_entropy_backward, softcap_cross_entropy_forward
from recipe.kernels.swiglu import swiglu_backward, swiglu_forward

Array = np.ndarray[Any, Any]
Run = Callable[..., tuple[Array, ...]]


def inputs(dtype: Any) -> Callable[..., Array]:
    """Normal numbers of a shape, others at each call."""
    generator = np.random.default_rng(7)
    return lambda *shape, scale=1.0: (generator.standard_normal(shape) * scale).astype(dtype)


def operations(run: Run, dtype: Any) -> Iterator[tuple[str, tuple[Array, ...]]]:
    """Name and results of each kernel, forward and backward."""
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


def main() -> None:
    """Run all in both dtypes, on one core and on two, and write the results."""
    found: dict[str, Array] = {}
    for name, dtype in (("float32", np.float32), ("bfloat16", ml_dtypes.bfloat16)):
        for cores in (1, 2):

            def run(kernel: Any, cores: int = cores, **arguments: Any) -> tuple[Array, ...]:
                results = nki.simulate(kernel[cores])(**arguments)
                return results if isinstance(results, tuple) else (results,)

            for kernel, results in operations(run, dtype):
                for number, result in enumerate(results):
                    found[f"{kernel}[{cores}] {name}, result {number}, {result.dtype}"] = result.astype(np.float32)
    np.savez(sys.argv[1], **found)  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
