"""Stochastic rounding to bf16 (NEURON_RT_STOCHASTIC_ROUNDING_EN): unbiased, repeatable, between the two neighbours."""

from __future__ import annotations

import itertools
from typing import Any

import nki.isa as nisa
import nki.language as nl
import numpy as np
import pytest

from parity_tests.nki_program import BF16, FP16, FP32, numbers, on_chip, same_bits

SHAPE = (64, 1000)


def copied(x: np.ndarray, dtype: Any = BF16, lnc: int = 1) -> np.ndarray:
    (found,) = on_chip(lambda out, x: nisa.tensor_copy(dst=out, src=x), x, outputs=[(x.shape, dtype)], lnc=lnc)
    return found


@pytest.fixture
def restarted(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Switches it on; a call of the result starts counting launches anew, as a new process does."""
    from nki import _core

    def start(seed: int | None = None) -> None:
        monkeypatch.setenv("NEURON_RT_STOCHASTIC_ROUNDING_EN", "1")
        if seed is not None:
            monkeypatch.setenv("NEURON_RT_STOCHASTIC_ROUNDING_SEED", str(seed))
        monkeypatch.setattr(_core, "_numbers", itertools.count())

    return start


def test_a_value_goes_up_as_often_as_it_is_near(restarted: Any) -> None:
    restarted()
    step = 2.0**-7
    for share in (0.25, 0.5, 0.9):
        x = np.full(SHAPE, 1.0 + share * step, np.float32)
        found = copied(x).astype(np.float64)
        assert set(np.unique(found)) == {1.0, 1.0 + step}
        assert abs(np.mean(found > 1.0) - share) < 0.01
        assert np.unique(copied(-x).astype(np.float64)).tolist() == [-1.0 - step, -1.0]


def test_what_bf16_holds_stays_as_it_is(restarted: Any) -> None:
    restarted()
    x = numbers(*SHAPE, dtype=BF16).astype(np.float32)
    x[0, :4] = (np.inf, -np.inf, 0.0, np.finfo(np.float32).tiny)
    assert same_bits(copied(x), x.astype(BF16))
    nan = np.array([[0x7F800001, 0x7FC00000, 0xFFFFFFFF]], np.uint32).view(np.float32)
    assert np.isnan(copied(nan).astype(np.float32)).all()


def test_the_seed_decides_and_every_launch_has_its_own_bits(restarted: Any) -> None:
    x = numbers(*SHAPE)
    restarted(1)
    first, second = copied(x), copied(x)
    restarted(1)
    again = copied(x)
    restarted(2)
    other = copied(x)
    assert same_bits(first, again)
    assert not same_bits(first, second)
    assert not same_bits(first, other)
    assert not same_bits(first, x.astype(BF16))


def test_other_types_and_constants_round_to_nearest(restarted: Any) -> None:
    restarted()
    x = numbers(*SHAPE)
    assert same_bits(copied(x, FP16), x.astype(FP16))
    (filled,) = on_chip(lambda out: nisa.memset(dst=out, value=0.1), outputs=[(SHAPE, BF16)])
    assert same_bits(filled, np.full(SHAPE, 0.1, np.float32).astype(BF16))
    (made,) = on_chip(
        lambda out: nisa.tensor_copy(dst=out, src=nl.full(SHAPE, 0.1, nl.bfloat16)), outputs=[(SHAPE, BF16)]
    )
    assert same_bits(made, filled)


def test_off_it_rounds_to_nearest_even(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEURON_RT_STOCHASTIC_ROUNDING_EN", "0")
    x = numbers(*SHAPE)
    assert same_bits(copied(x), x.astype(BF16))
    assert same_bits(copied(x, FP32), x)
