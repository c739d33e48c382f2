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
from nki._trace import Step, is_written, tracing

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


class Unchanged:
    """Remembers what an instruction is told to read only, and compares it afterwards."""

    def __init__(self) -> None:
        self.read: list[tuple[Any, bytes]] = []
        self.compared = 0

    def before(self, step: Step) -> None:
        operands = [(name, view) for name, view in step.operands() if not view.is_indirect()]
        written = {id(view._storage) for name, view in step.operands() if is_written(name)}
        read = [view._array for name, view in operands if not is_written(name) and id(view._storage) not in written]
        self.read = [(array, array.tobytes()) for array in read]

    def after(self, step: Step, handle: Any) -> None:
        for array, before in self.read:
            self.compared += 1
            assert array.tobytes() == before, step


@pytest.mark.parametrize("name", ["adamw", "embedding", "flash_attention", "fp8_projection"])
def test_what_an_instruction_is_told_to_read_it_does_not_write(name: str) -> None:
    unchanged = Unchanged()
    with tracing(unchanged):
        CASES[name].make(small(2))[0]()
    assert unchanged.compared > 10


@pytest.mark.parametrize("name", CASES)
def test_kernels_are_accounted(name: str) -> None:
    with accounting() as accounts:
        CASES[name].make(small(2))[0]()
    for account in accounts:
        assert 0 < account.sbuf_peak <= SBUF_LIMIT
        assert account.psum_peak <= PSUM_LIMIT
        assert 0.0 < account.microseconds <= account.serial_microseconds
        assert 0.0 < account.roofline_microseconds <= 1.001 * account.microseconds
        assert account.hbm_bytes > 0
