"""What a submission replaced outside of itself is told by name; what it left alone is not."""

from __future__ import annotations

import builtins
import sys
from typing import Any

import pytest
import torch

from scorer.trusted.host.surroundings import Surroundings


@pytest.mark.parametrize(
    ("owner", "name", "told"),
    [
        (torch.Tensor, "copy_", "torch.Tensor.copy_"),  # of its base class
        (torch.Tensor, "backward", "torch.Tensor.backward"),  # of its own
        (torch.nn.functional, "cross_entropy", "torch.nn.functional.cross_entropy"),
        (builtins, "pow", "builtins.pow"),
        (sys, "excepthook", "sys.excepthook"),
    ],
)
def test_what_is_replaced_is_told(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, told: str) -> None:
    before = Surroundings()
    assert before.changes() == []
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, lambda *_, **__: None)
        changes = before.changes()
    assert changes == [f"{told} was replaced"]
