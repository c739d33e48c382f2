"""nki.isa.rng, set_rng_seed, rand_set_state, rand_get_state and dropout: random, reproducible, evenly spread."""

from __future__ import annotations

from typing import Any

import nki.isa as nisa
import nki.language as nl
import numpy as np
import pytest

from parity_tests.nki_program import BF16, FP32, Check, empty, numbers, on_chip, same_bits, tile

U32 = np.dtype(np.uint32)
ENGINE = nisa.engine


def xorwow(state: list[int], count: int) -> tuple[list[int], list[int]]:
    """Marsaglia's generator: five words of xorshift and a Weyl sequence, 32 bits each."""
    x, y, z, w, v, d = state
    words = []
    for _ in range(count):
        t = x ^ (x >> 2)
        x, y, z, w = y, z, w, v
        v = ((v ^ (v << 4)) ^ (t ^ (t << 1))) & 0xFFFFFFFF
        d = (d + 362437) & 0xFFFFFFFF
        words.append((v + d) & 0xFFFFFFFF)
    return words, [x, y, z, w, v, d]


def test_gpsimd_generates_from_the_state_of_each_partition() -> None:
    state = np.random.default_rng(0).integers(0, 2**32, (5, 6), dtype=np.uint32)

    def body(words: Any, after: Any, state: Any) -> None:
        nisa.rand_set_state(src_seeds=state, engine=ENGINE.gpsimd)
        nisa.rng(dst=words, engine=ENGINE.gpsimd)
        nisa.rand_get_state(dst=after, engine=ENGINE.gpsimd)

    words, after = on_chip(body, state, outputs=[((5, 9), U32), ((5, 6), U32)])
    for row in range(5):
        expected, left = xorwow([int(word) for word in state[row]], 9)
        assert words[row].tolist() == expected
        assert after[row].tolist() == left
    assert not same_bits(after, state)


@pytest.mark.parametrize("dtype", [np.dtype(np.uint8), np.dtype(np.int16), U32])
def test_a_seed_fixes_the_sequence_of_which_small_types_keep_the_lowest_bits(dtype: Any) -> None:
    seed = np.array([[1234]], np.uint32)

    def body(out: Any, full: Any, other: Any, seed: Any) -> None:
        nisa.set_rng_seed(src_seeds=seed)
        nisa.rng(dst=full, engine=ENGINE.vector)
        nisa.set_rng_seed(src_seeds=seed)
        nisa.rng(dst=out, engine=ENGINE.vector)
        nisa.rng(dst=other, engine=ENGINE.vector)

    shape = (128, 16)
    out, full, other = on_chip(body, seed, outputs=[(shape, dtype), (shape, U32), (shape, U32)])
    assert same_bits(out, full.astype(dtype))
    assert not same_bits(full, other)
    again, _, _ = on_chip(body, seed, outputs=[(shape, dtype), (shape, U32), (shape, U32)])
    assert same_bits(out, again)


@pytest.mark.parametrize("engine", [ENGINE.vector, ENGINE.gpsimd])
def test_bits_are_evenly_spread(engine: Any) -> None:
    (words,) = on_chip(lambda out: nisa.rng(dst=out, engine=engine), outputs=[((128, 128), U32)])
    share = [float(np.mean(words >> np.uint32(bit) & np.uint32(1))) for bit in range(32)]
    assert all(abs(value - 0.5) < 0.02 for value in share)
    assert len(np.unique(words)) > 0.99 * words.size


@pytest.mark.parametrize("dtype", [FP32, BF16, np.dtype(np.int32)])
def test_dropout_zeroes_with_the_partition_s_probability_and_does_not_rescale(dtype: Any) -> None:
    x = np.full((4, 4000), 3, np.float32).astype(dtype)
    chance = np.array([[0.0], [0.25], [0.9], [1.0]], np.float32)
    (found,) = on_chip(lambda out, x, p: nisa.dropout(dst=out, data=x, prob=p), x, chance, outputs=[(x.shape, dtype)])
    assert set(np.unique(found.astype(np.float32))) == {0.0, 3.0}
    dropped = np.mean(found.astype(np.float32) == 0, axis=1)
    assert dropped[0] == 0
    assert dropped[3] == 1
    assert abs(dropped[1] - 0.25) < 0.03
    assert abs(dropped[2] - 0.9) < 0.03


def test_dropout_with_a_number() -> None:
    x = numbers(16, 50)
    (all_kept,) = on_chip(lambda out, x: nisa.dropout(dst=out, data=x, prob=0.0), x, outputs=[(x.shape, FP32)])
    (half,) = on_chip(lambda out, x: nisa.dropout(dst=out, data=x, prob=0.5), x, outputs=[(x.shape, FP32)])
    assert same_bits(all_kept, x)
    assert 0.4 < np.mean(half == 0) < 0.6


def state(*shape: int, **more: Any) -> Any:
    return tile(*shape, dtype=more.get("dtype", nl.uint32))


def drop(**more: Any) -> None:
    nisa.dropout(**{"dst": empty(4, 6), "data": tile(4, 6), "prob": 0.5, **more})


CHECKS = {
    "rng into floats": Check(
        lambda: nisa.rng(dst=empty(4, 6)), "go to integers", lambda: nisa.rng(dst=empty(4, 6, dtype=nl.uint8))
    ),
    "rng into PSUM by GpSimd": Check(
        lambda: nisa.rng(dst=empty(4, 6, dtype=nl.int32, buffer=nl.psum), engine=ENGINE.gpsimd),
        "GpSimd engine cannot reach",
        lambda: nisa.rng(dst=empty(4, 6, dtype=nl.int32, buffer=nl.psum), engine=ENGINE.vector),
    ),
    "seed": Check(
        lambda: nisa.set_rng_seed(src_seeds=tile(1, 2, dtype=nl.int32)),
        "expected a 32-bit value (1, 1)",
        lambda: nisa.set_rng_seed(src_seeds=tile(1, 1, dtype=nl.int32)),
    ),
    "state words": Check(
        lambda: nisa.rand_set_state(src_seeds=state(4, 24)),
        "expected uint32 (partitions, 6)",
        lambda: nisa.rand_set_state(src_seeds=state(4, 6)),
    ),
    "state type": Check(
        lambda: nisa.rand_get_state(dst=empty(4, 6, dtype=nl.int32)),
        "expected uint32 (partitions, 6)",
        lambda: nisa.rand_get_state(dst=empty(4, 6, dtype=nl.uint32)),
    ),
    "state of the Vector engine": Check(
        lambda: nisa.rand_set_state(src_seeds=state(4, 6), engine=ENGINE.vector),
        "cannot run this instruction",
        lambda: nisa.rand_set_state(src_seeds=state(4, 6), engine=ENGINE.gpsimd),
    ),
    "dropout type": Check(lambda: drop(dst=empty(4, 6, dtype=nl.bfloat16)), "does not convert", drop),
    "probability": Check(lambda: drop(prob=1.5), "outside [0, 1]", lambda: drop(prob=1.0)),
    "probability tile": Check(lambda: drop(prob=tile(4, 2)), "(4, 1), found (4, 2)", lambda: drop(prob=tile(4, 1))),
    "probability type for integers": Check(
        lambda: drop(
            dst=empty(4, 6, dtype=nl.int32), data=tile(4, 6, dtype=nl.int32), prob=tile(4, 1, dtype=nl.bfloat16)
        ),
        "fp32 for integer data",
        lambda: drop(prob=tile(4, 1, dtype=nl.bfloat16)),
    ),
    "rand2": Check(lambda: nisa.rand2(dst=empty(4, 6), min=0.0, max=1.0), "needs Trn3", drop),
}


@pytest.mark.parametrize("name", CHECKS)
def test_refusals(name: str) -> None:
    CHECKS[name].hold()
