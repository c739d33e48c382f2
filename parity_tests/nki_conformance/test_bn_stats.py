"""nki.isa.bn_stats and bn_aggr: mean and variance in parts."""

from __future__ import annotations

from typing import Any

import nki.isa as nisa
import numpy as np

from parity_tests.nki_program import (
    FP32,
    numbers,
    on_chip,
)


def test_bn_stats_and_bn_aggr_give_mean_and_variance() -> None:
    x = numbers(128, 700)

    def body(stats: Any, out: Any, x: Any) -> None:
        for part in range(2):
            nisa.bn_stats(dst=stats[:, 6 * part : 6 * part + 6], data=x[:, 350 * part : 350 * part + 350])
        nisa.bn_aggr(dst=out, data=stats)

    stats, found = on_chip(body, x, outputs=[((128, 12), FP32), ((128, 2), FP32)])
    np.testing.assert_allclose(found[:, 0], x.mean(axis=1, dtype=np.float64), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found[:, 1], x.var(axis=1, dtype=np.float64), rtol=1e-5)
    even = x[:, 0:350:2].astype(np.float64)
    np.testing.assert_allclose(
        stats[:, 0:3], np.stack([np.full(128, 175), even.mean(1), even.var(1) * 175], 1), rtol=1e-4
    )
