"""nki.isa.tensor_copy_predicated: where the predicate says so."""

from __future__ import annotations

from typing import Any

import nki.isa as nisa
import numpy as np
import pytest

from parity_tests.nki_program import (
    FP32,
    numbers,
    on_chip,
    same_bits,
)


@pytest.mark.parametrize("reverse", [False, True])
def test_tensor_copy_predicated(reverse: bool) -> None:
    old, new, predicate = numbers(8, 5), numbers(8, 5, seed=1), np.arange(40, dtype=np.uint8).reshape(8, 5) % 3

    def body(out: Any, old: Any, new: Any, predicate: Any) -> None:
        nisa.tensor_copy(dst=out, src=old)
        nisa.tensor_copy_predicated(dst=out, src=new, predicate=predicate, reverse_pred=reverse)

    (found,) = on_chip(body, old, new, predicate, outputs=[((8, 5), FP32)])
    assert same_bits(found, np.where((predicate != 0) != reverse, new, old))
