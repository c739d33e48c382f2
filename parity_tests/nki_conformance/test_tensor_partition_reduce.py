"""nki.isa.tensor_partition_reduce: over partitions, into one."""

from __future__ import annotations

from typing import Any

import nki.isa as nisa
import nki.language as nl
import numpy as np
import pytest

from parity_tests.nki_program import BF16, FP32, Check, empty, numbers, on_chip, same_bits, tile

U16 = np.dtype(np.uint16)


@pytest.mark.parametrize(("source", "target"), [(FP32, FP32), (BF16, FP32), (BF16, BF16)])
@pytest.mark.parametrize("op", ["add", "maximum", "average"])
def test_arithmetic(op: str, source: Any, target: Any) -> None:
    x = numbers(100, 3, 4, dtype=source)
    (found,) = on_chip(
        lambda out, x: nisa.tensor_partition_reduce(dst=out, op=getattr(nl, op), data=x), x, outputs=[((1, 12), target)]
    )
    wide = x.astype(np.float64).reshape(100, 12)
    expected = {"add": wide.sum, "maximum": wide.max, "average": wide.mean}[op](axis=0)[None]
    tolerance = 0.01 if target == BF16 else 1e-5
    np.testing.assert_allclose(found.astype(np.float64), expected, rtol=tolerance, atol=tolerance)
    assert not np.allclose(found.astype(np.float64), wide[:1], rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("op", ["bitwise_or", "bitwise_and"])
def test_bits(op: str) -> None:
    x = np.random.default_rng(0).integers(0, 2**16, (3, 50)).astype(np.uint16)
    (found,) = on_chip(
        lambda out, x: nisa.tensor_partition_reduce(dst=out, op=getattr(nl, op), data=x), x, outputs=[((1, 50), U16)]
    )
    combine = getattr(np, op)
    assert same_bits(found, combine(combine(x[0], x[1]), x[2])[None])


def reduce(**more: Any) -> None:
    nisa.tensor_partition_reduce(**{"dst": empty(1, 6), "op": nl.add, "data": tile(4, 6), **more})


CHECKS = {
    "operator": Check(lambda: reduce(op=nl.multiply), "expected one of nl.add", reduce),
    "dst": Check(lambda: reduce(dst=empty(4, 6)), "leaves one partition of 6", reduce),
    "PSUM": Check(lambda: reduce(data=tile(4, 6, buffer=nl.psum)), "GpSimd engine cannot reach", reduce),
    "bits of floats": Check(lambda: reduce(op=nl.bitwise_or), "reduces integers", reduce),
}


@pytest.mark.parametrize("name", CHECKS)
def test_refusals(name: str) -> None:
    CHECKS[name].hold()
