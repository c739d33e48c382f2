"""SBUF and PSUM as they fill: what counts, what is given back, and what tiles that the kernel places itself take."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import nki
import nki.isa as nisa
import nki.language as nl
import pytest

from parity_tests.nki_program import product, run, tile

BANK = 512  # fp32 elements
TURNED = "NKI_DMA_TRANSPOSE_AS_PE_TRANSPOSE"


def psum(columns: int = BANK, **more: Any) -> Any:
    return nl.ndarray((4, columns), dtype=nl.float32, buffer=nl.psum, **more)


def sbuf(columns: int) -> Any:
    return nl.ndarray((128, columns), dtype=nl.float32, buffer=nl.sbuf)


def refused(body: Callable[[], Any], message: str) -> None:
    with pytest.raises(nki.NkiValidationError, match=message):
        run(body)


@pytest.mark.parametrize(("value", "banks"), [(None, 8), ("0", 8), ("1", 7)])
def test_transposes_by_the_tensor_engine_take_a_bank(
    monkeypatch: pytest.MonkeyPatch, value: str | None, banks: int
) -> None:
    monkeypatch.delenv(TURNED, raising=False)
    if value is not None:
        monkeypatch.setenv(TURNED, value)
    assert nl.tile_size.psum_num_banks == banks

    def held(count: int) -> None:
        assert len([psum() for _ in range(count)]) == count

    run(lambda: held(banks))
    refused(lambda: held(banks + 1), "no 1 free bank")
    run(lambda: psum(BANK * banks))
    refused(lambda: psum(BANK * banks + 1), rf"PSUM has {banks} banks x 2048 = {banks * 2048}")
    run(lambda: psum(address=(0, (banks - 1) * 2048)))
    refused(lambda: psum(address=(0, banks * 2048)), f"a partition has {banks * 2048}")
    with pytest.raises(AttributeError, match="has no psum_size"):
        _ = nl.tile_size.psum_size


def test_placed_and_other_tiles_share_the_banks() -> None:
    def together(placed: int, others: int, same_place: bool = False) -> None:
        tiles = [psum(address=(0, 0 if same_place else bank * 2048)) for bank in range(placed)]
        tiles += [psum() for _ in range(others)]
        assert len(tiles) == placed + others

    run(lambda: together(3, 5))
    refused(lambda: together(3, 6), "no 1 free bank")
    run(lambda: together(3, 7, same_place=True))
    refused(lambda: together(3, 8, same_place=True), "no 1 free bank")

    def placed_last(bank: int) -> None:
        tiles = [psum(), psum()]
        tiles.append(psum(address=(0, bank * 2048)))

    run(lambda: placed_last(2))
    refused(lambda: placed_last(1), "PSUM overflow: bytes in use per bank would be")


def test_placed_tiles_give_their_banks_back() -> None:
    def body() -> None:
        for _ in range(3):
            held = [psum(address=(0, bank * 2048)) for bank in range(8)]
            del held
            product()

    run(body)


@pytest.mark.parametrize("full", [True, False])
def test_tiles_that_only_refer_to_each_other_do_not_count(full: bool) -> None:
    """A kernel that defines functions in a loop leaves such behind; whether Python has found them may not matter."""

    def cycle(make: Callable[[int], Any], size: int, reach: bool) -> None:
        kept = []
        for _ in range(3):
            holder: list[Any] = [make(size)]
            holder.append(holder)
            if reach:
                kept.append(holder)

    was = gc.isenabled()
    gc.disable()
    try:
        make, size, message = (sbuf, 20_000, "SBUF overflow") if full else (psum, BANK * 3, "PSUM overflow")
        run(lambda: cycle(make, size, reach=False))
        refused(lambda: cycle(make, size, reach=True), message)
    finally:
        if was:
            gc.enable()


def test_a_product_lies_within_a_bank() -> None:
    def multiply(start: int, columns: int = 8) -> None:
        wide = psum(2 * BANK)
        nisa.nc_matmul(
            dst=wide[:, start : start + columns], stationary=tile(8, 4), moving=tile(8, columns), accumulate=False
        )

    for start in (0, BANK - 8, BANK):
        run(lambda start=start: multiply(start))
    refused(lambda: multiply(BANK - 7), "must lie within one bank")
