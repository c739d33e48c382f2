"""Kernels that go through their operands in chunks hold in other orders, too: sizes of several chunks each way.

Smaller sizes, for all kernels: test_kernel_cases.
"""

from __future__ import annotations

from typing import Any

import nki
import pytest
import torch
import torch_neuronx  # noqa: F401 (registers the device)
from nki._schedule import check_order

from parity_tests.kernel_cases import CASES, Size

SIZE = Size(batch=1, positions=530, heads=2, head_dim=66, hidden=520, vocabulary=530, dtype=torch.bfloat16, lnc=1)


@pytest.mark.parametrize("name", ["flash_attention", "fused_mlp, gated", "head_cross_entropy"])
def test_chunks_may_be_taken_in_other_orders(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    launch = nki.Kernel.__call__
    moved: list[int] = []

    def both(self: nki.Kernel, *args: Any, **kwargs: Any) -> Any:
        moved.append(check_order(self, *args, **kwargs))
        return launch(self, *args, **kwargs)

    monkeypatch.setattr(nki.Kernel, "__call__", both)
    CASES[name].make(SIZE)[0]()
    assert len(moved) >= 2  # forward and backward
    assert min(moved) > 0  # the orders were other ones
