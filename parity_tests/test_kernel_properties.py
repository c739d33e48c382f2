"""Every kernel file of the recipe in whatever shape there may be: one row, whole tiles, remainders of any length.

The shapes are drawn; what is checked of each is what the kernel's own tests check of theirs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from parity_tests import (
    test_kernel_adamw,
    test_kernel_causal_convolution,
    test_kernel_conformance,
    test_kernel_embedding,
    test_kernel_flash_attention,
    test_kernel_fp8_projection,
    test_kernel_fused_mlp,
    test_kernel_head_cross_entropy,
    test_kernel_linear_backward,
    test_kernel_newton_schulz,
    test_kernel_ngram_mix,
    test_kernel_swiglu,
)
from parity_tests.kernel_cases import CASES
from parity_tests.kernel_checks import random
from recipe.kernels.newton_schulz import QUINTIC, QUINTIC_MARGIN

few = st.integers(1, 4)
sizes = st.one_of(st.integers(1, 16), st.integers(120, 136), st.integers(250, 300))
evens = st.integers(1, 40).map(lambda half: 2 * half)
caps = st.sampled_from((0.0, 15.0))


def drawn(*strategies: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    """Arguments, one of each."""
    return st.tuples(*strategies)


def cross_entropy(shape: tuple[int, ...], cap: float, dtype: torch.dtype, lnc: int) -> None:
    test_kernel_conformance.check_cross_entropy(shape, dtype, lnc, cap)


def weight_average(length: int, _: torch.dtype, lnc: int) -> None:
    test_kernel_adamw.check_average(length, lnc)


def newton_schulz(rows: int, columns: int, dtype: torch.dtype, lnc: int) -> None:
    matrices = [random(rows, columns, dtype=torch.float32, seed=seed) for seed in range(3)]
    test_kernel_newton_schulz.check_step(matrices, QUINTIC[:1], QUINTIC_MARGIN, dtype, lnc)


def ngram_mix(shape: tuple[int, ...], rows: int, followers: int, vocabulary: int, _: torch.dtype, lnc: int) -> None:
    test_kernel_ngram_mix.test_ngram_mix(shape, rows, followers, vocabulary, lnc)


rows_of = st.tuples(few, sizes, sizes)
CHECKS: dict[str, tuple[Callable[..., None], st.SearchStrategy[tuple[Any, ...]]]] = {
    "adamw": (test_kernel_adamw.check_step, drawn(st.integers(1, 3000))),
    "causal_convolution": (test_kernel_causal_convolution.test_causal_convolution, drawn(rows_of, st.integers(2, 4))),
    "embedding": (test_kernel_embedding.test_embedding, drawn(sizes, sizes, st.tuples(few, sizes))),
    "flash_attention": (
        test_kernel_flash_attention.test_attention,
        drawn(st.tuples(few, few, sizes, evens), st.one_of(st.just(0), sizes)),
    ),
    "fp8_projection": (test_kernel_fp8_projection.test_fp8_projection, drawn(rows_of, sizes)),
    "fused_mlp": (test_kernel_fused_mlp.test_fused_mlp, drawn(sizes, sizes, sizes, st.booleans())),
    "head_cross_entropy": (
        test_kernel_head_cross_entropy.test_head_cross_entropy,
        drawn(sizes, sizes, sizes.map(lambda words: words + 1), caps),
    ),
    "linear_backward": (test_kernel_linear_backward.check, drawn(sizes, sizes, sizes)),
    "newton_schulz": (newton_schulz, drawn(sizes, sizes)),
    "ngram_mix": (
        ngram_mix,
        drawn(st.tuples(few, sizes), sizes, st.integers(1, 16), sizes.map(lambda words: words + 16)),
    ),
    "relu_squared": (test_kernel_conformance.test_relu_squared, drawn(rows_of)),
    "rms_norm": (test_kernel_conformance.test_rms_norm, drawn(rows_of)),
    "rotary_qk_norm": (test_kernel_conformance.test_rotary_qk_norm, drawn(st.tuples(few, sizes, few, evens))),
    "softcap_cross_entropy": (
        cross_entropy,
        drawn(st.tuples(few, sizes, sizes.map(lambda words: words + 1)), caps),
    ),
    "swiglu": (test_kernel_swiglu.test_swiglu, drawn(rows_of)),
    "weight_average": (weight_average, drawn(st.integers(1, 3000))),
}
"""By the file of recipe/kernels: what checks it, and what that is given before dtype and cores."""


def test_every_file_of_kernels_is_checked() -> None:
    assert CHECKS.keys() == {name.partition(",")[0] for name in CASES}


@pytest.mark.parametrize("name", CHECKS)
def test_any_shape(name: str) -> None:
    check, arguments = CHECKS[name]

    @settings(max_examples=25, deadline=None, derandomize=True, database=None)
    @given(arguments, st.sampled_from((torch.float32, torch.bfloat16)), st.sampled_from((1, 2)))
    def whatever(drawn: tuple[Any, ...], dtype: torch.dtype, lnc: int) -> None:
        check(*drawn, dtype, lnc)

    whatever()
