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


def most(kind: str) -> Any:
    """A tile beside which there is no place for another one."""
    made = sbuf(30_000) if kind == "SBUF" else psum(5 * BANK)
    nisa.memset(dst=made, value=1.0)
    return made


def in_a_loop(kind: str) -> None:
    for _ in range(3):
        held = most(kind)
        nisa.memset(dst=held, value=2.0)


def in_a_loop_behind_the_last_one(kind: str) -> None:
    last = None
    for _ in range(3):
        held = most(kind)
        if last is not None:
            nisa.tensor_copy(dst=held, src=last)
        last = held


def by_a_function(kind: str) -> None:
    first = most(kind)
    nisa.memset(dst=first, value=2.0)
    second = most(kind)
    nisa.memset(dst=second, value=3.0)


def by_a_function_and_used_later(kind: str) -> None:
    first = most(kind)
    second = most(kind)
    nisa.memset(dst=second, value=3.0)
    nisa.memset(dst=first, value=2.0)


def in_a_list(kind: str) -> None:
    for _ in range(2):
        held = [most(kind) for _ in range(1)]
        nisa.memset(dst=held[0], value=2.0)


def in_two_lists(kind: str) -> None:
    held = [most(kind) for _ in range(1)]
    more = [most(kind) for _ in range(1)]
    assert len(held) == len(more)


def before_a_try(kind: str) -> None:
    first = most(kind)
    nisa.memset(dst=first, value=2.0)
    try:
        nisa.memset(dst=most(kind), value=3.0)
    finally:
        assert kind


def used_where_a_try_ends(kind: str) -> None:
    first = most(kind)
    try:
        nisa.memset(dst=most(kind), value=3.0)
    except ZeroDivisionError:
        nisa.memset(dst=first, value=2.0)


def shared_with_a_function(kind: str) -> None:
    first = most(kind)

    def use() -> None:
        nisa.memset(dst=first, value=2.0)

    nisa.memset(dst=most(kind), value=3.0)
    use()


# A body that does not use its first tile when it makes the second one, and the like that does.
LAST_USES = [
    (in_a_loop, in_a_loop_behind_the_last_one),
    (by_a_function, by_a_function_and_used_later),
    (in_a_list, in_two_lists),
    (before_a_try, used_where_a_try_ends),
    (before_a_try, shared_with_a_function),
]


@pytest.mark.parametrize("kind", ["SBUF", "PSUM"])
@pytest.mark.parametrize(("unused", "used"), LAST_USES)
def test_a_tile_has_its_place_until_it_was_used_for_the_last_time(
    unused: Callable[[str], None], used: Callable[[str], None], kind: str
) -> None:
    run(lambda: unused(kind))
    refused(lambda: used(kind), f"{kind} overflow")


def test_a_product_lies_within_a_bank() -> None:
    def multiply(start: int, columns: int = 8) -> None:
        wide = psum(2 * BANK)
        nisa.nc_matmul(
            dst=wide[:, start : start + columns], stationary=tile(8, 4), moving=tile(8, columns), accumulate=False
        )

    for start in (0, BANK - 8, BANK):
        run(lambda start=start: multiply(start))
    refused(lambda: multiply(BANK - 7), "must lie within one bank")
