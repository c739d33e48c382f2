"""nki.isa.nc_n_gather: each partition gathers from itself."""

from __future__ import annotations

from typing import Any

import nki.isa as nisa
import nki.language as nl
import numpy as np
import pytest

from parity_tests.nki_program import BF16, FP32, Check, empty, numbers, on_chip, same_bits, tile


@pytest.mark.parametrize(("shape", "dtype"), [((128, 600), FP32), ((5, 3, 4), BF16), ((1, 7), np.dtype(np.uint8))])
def test_gathers_within_the_partition(shape: tuple[int, ...], dtype: Any) -> None:
    x = numbers(*shape, dtype=dtype, low=0, high=200)
    size = int(np.prod(shape[1:]))
    indices = np.random.default_rng(1).integers(0, size, (shape[0], 9)).astype(np.uint32)
    (found,) = on_chip(
        lambda out, x, i: nisa.nc_n_gather(dst=out, data=x, indices=i), x, indices, outputs=[((shape[0], 9), dtype)]
    )
    assert same_bits(found, np.take_along_axis(x.reshape(shape[0], -1), indices.astype(np.int64), axis=1))
    assert not same_bits(found, x.reshape(shape[0], -1)[:, :1].repeat(9, axis=1))


def gather(**more: Any) -> None:
    nisa.nc_n_gather(
        **{"dst": empty(4, 3), "data": tile(4, 6), "indices": tile(4, 3, dtype=nl.uint32, value=5), **more}
    )


CHECKS = {
    "index type": Check(lambda: gather(indices=tile(4, 3, dtype=nl.int32)), "expected uint32", gather),
    "out of range": Check(lambda: gather(indices=tile(4, 3, dtype=nl.uint32, value=6)), "index 6 reaches", gather),
    "dst type": Check(lambda: gather(dst=empty(4, 3, dtype=nl.float16)), "does not convert", gather),
    "dst size": Check(lambda: gather(dst=empty(4, 4)), "does not fit dst", gather),
    "partitions": Check(lambda: gather(data=tile(5, 6)), "has 5 partitions", gather),
    "PSUM": Check(lambda: gather(data=tile(4, 6, buffer=nl.psum)), "GpSimd engine cannot reach", gather),
}


@pytest.mark.parametrize("name", CHECKS)
def test_refusals(name: str) -> None:
    CHECKS[name].hold()
