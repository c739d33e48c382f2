"""Every kernel of the recipe, whatever its file: right in every order that the compiler may choose, and accounted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nki
import pytest
import torch
import torch_neuronx  # noqa: F401 (registers the device)
from nki._account import PSUM_LIMIT, SBUF_LIMIT, accounting
from nki._schedule import check_order

from parity_tests.kernel_cases import CASES, Size

KERNELS = Path(__file__).parents[1] / "recipe" / "kernels"


def small(lnc: int) -> Size:
    """Sizes with remainders: a second tile of rows, heads and columns that are no powers of two."""
    return Size(batch=2, positions=72, heads=2, head_dim=12, hidden=40, vocabulary=136, dtype=torch.bfloat16, lnc=lnc)


def test_every_file_of_kernels_has_a_case() -> None:
    files = {path.stem for path in KERNELS.glob("*.py") if "@nki.jit" in path.read_text("utf-8")}
    assert files == {name.partition(",")[0] for name in CASES}


@pytest.mark.parametrize("name", CASES)
def test_kernels_give_the_same_bits_in_every_legal_order(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    launch = nki.Kernel.__call__
    checked: dict[str, int] = {}

    def both(self: nki.Kernel, *args: Any, **kwargs: Any) -> Any:
        checked[self.__name__] = check_order(self, *args, **kwargs)
        return launch(self, *args, **kwargs)

    monkeypatch.setattr(nki.Kernel, "__call__", both)
    for lnc in (1, 2):
        CASES[name].make(small(lnc))[0]()
    assert any(checked.values())  # the orders were other ones


@pytest.mark.parametrize("name", CASES)
def test_kernels_are_accounted(name: str) -> None:
    with accounting() as accounts:
        CASES[name].make(small(2))[0]()
    for account in accounts:
        assert 0 < account.sbuf_peak <= SBUF_LIMIT
        assert account.psum_peak <= PSUM_LIMIT
        assert 0.0 < account.microseconds <= account.serial_microseconds
        assert account.hbm_bytes > 0
