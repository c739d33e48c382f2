"""Registers and scalars (nki.isa.register_*, scalar_load, scalar_store) and the loops that they bound."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import nki.isa as nisa
import nki.language as nl
import numpy as np
import pytest

from parity_tests.nki_program import Check, empty, on_chip, run, tile

I32 = np.dtype(np.int32)


def integer(value: int, dtype: Any = nl.int32) -> Any:
    return tile(1, 1, dtype=dtype, value=value)


def loaded(value: int) -> Any:
    register = nisa.register_alloc()
    nisa.register_load(register, integer(value))
    return register


def test_registers_move_load_and_store() -> None:
    def body(out: Any) -> None:
        first = nisa.register_alloc(7)
        second = nisa.register_alloc()
        nisa.register_move(second, first)
        nisa.register_move(first, -3)
        nisa.register_store(out[:, 0:1], first)
        nisa.register_store(out[:, 1:2], second)
        nisa.register_store(out[:, 2:3], loaded(41))

    (found,) = on_chip(body, outputs=[((1, 3), I32)])
    assert found.tolist() == [[-3, 7, 41]]


def test_int32_scalars_wrap() -> None:
    def body(out: Any) -> None:
        i = nisa.scalar_load(integer(100_000))
        for column, value in enumerate((i * i, i + 1, 5 - i, -i, 3 * i - i, i * 0 + (2**31 - 1) + 1)):
            nisa.scalar_store(out[:, column : column + 1], value)

    (found,) = on_chip(body, outputs=[((1, 6), I32)])
    assert found.tolist() == [[1_410_065_408, 100_001, -99_995, -100_000, 200_000, -(2**31)]]


def test_int64_scalars_do_not() -> None:
    def body(out: Any) -> None:
        big = nl.ndarray((1, 1), dtype=nl.int64, buffer=nl.sbuf)
        nisa.memset(dst=big, value=2**33)
        product = nisa.scalar_load(big) * 3
        assert product.dtype == nl.int64
        nisa.scalar_store(big, product)
        for part in (0, 1):
            nisa.tensor_copy(dst=out[:, part : part + 1], src=big.view(nl.int32)[:, part : part + 1])

    (found,) = on_chip(body, outputs=[((1, 2), I32)])
    assert found.view(np.int64).item() == 3 * 2**33


def test_fori_loop_runs_the_body_for_every_value() -> None:
    def body(out: Any, total: Any, step: Any) -> None:
        nisa.memset(dst=total, value=0)

        def add(i: Any) -> None:
            nisa.scalar_store(step, i)
            nisa.tensor_tensor(dst=total, data1=total, data2=step, op=nl.add)

        nl.fori_loop(3, nisa.scalar_load(integer(20)), add, step=4)
        nisa.tensor_copy(dst=out, src=total)

    out, _, _ = on_chip(body, outputs=[((1, 1), I32)] * 3)
    assert out.item() == sum(range(3, 20, 4)) != sum(range(3, 20))


def test_fori_loop_gives_a_register_if_a_bound_is_one() -> None:
    kinds: list[type] = []
    run(lambda: nl.fori_loop(0, loaded(2), lambda i: kinds.append(type(i))))
    run(lambda: nl.fori_loop(0, 1, lambda i: kinds.append(type(i))))
    assert kinds == [nisa.VirtualRegister, nisa.VirtualRegister, nisa.NkiScalar]


@pytest.mark.parametrize(("start", "rounds"), [(5, 5), (1, 1), (0, 0)])
def test_while_loop_checks_before_each_round(start: int, rounds: int) -> None:
    def body(out: Any, left: Any) -> None:
        nisa.memset(dst=out, value=0)
        nisa.memset(dst=left, value=start)

        def once(condition: Any) -> Any:
            assert isinstance(condition, nisa.VirtualRegister)
            nisa.tensor_scalar(dst=out, data=out, op0=nl.add, operand0=1.0)
            nisa.tensor_scalar(dst=left, data=left, op0=nl.subtract, operand0=1.0)
            following = nisa.register_alloc()
            nisa.register_load(following, left)
            return following

        nl.while_loop(loaded(start), once)

    out, left = on_chip(body, outputs=[((1, 1), I32)] * 2)
    assert (out.item(), left.item()) == (rounds, 0)


def test_a_loop_s_register_is_passed_by_value() -> None:
    seen: list[int] = []

    def body(i: Any) -> None:
        seen.append(i.number)
        nisa.register_move(i, 100)

    def down(condition: Any) -> Any:
        left = tile(1, 1, dtype=nl.int32)
        nisa.register_store(left, condition)
        nisa.tensor_scalar(dst=left, data=left, op0=nl.subtract, operand0=1.0)
        nisa.register_load(condition, left)
        seen.append(condition.number)
        return condition

    run(lambda: nl.fori_loop(0, loaded(3), body))
    run(lambda: nl.while_loop(loaded(3), down))
    assert seen == [0, 1, 2, 2, 1, 0]


def scalar(value: int = 1, dtype: Any = nl.int32) -> Any:
    return nisa.scalar_load(integer(value, dtype))


@pytest.mark.parametrize(
    "use",
    [bool, int, range, lambda s: s < 2, lambda s: s == 1, lambda s: s != 1, lambda s: [0, 1][s], lambda s: s + 1.5],
    ids=["bool", "int", "range", "less", "equal", "not_equal", "index", "float"],
)
def test_python_cannot_look_at_run_time_values(use: Callable[[Any], Any]) -> None:
    with pytest.raises(TypeError):
        run(lambda: use(scalar()))
    if use is not range:
        with pytest.raises(TypeError):
            run(lambda: use(loaded(1)))


def moved(made: Any, start: Any = None) -> None:
    nisa.tensor_copy(dst=tile(4, 2), src=made[:, nl.ds(scalar(4) if start is None else start, 2)])


def test_a_slice_can_start_at_a_run_time_value() -> None:
    x = np.arange(24, dtype=np.int32).reshape(4, 6)

    def body(out: Any, x: Any) -> None:
        def copy(i: Any) -> None:
            nisa.tensor_copy(dst=out[:, nl.ds(i, 2)], src=x[:, nl.ds(4 - i, 2)])

        nl.fori_loop(0, 6, copy, step=2)

    (found,) = on_chip(body, x, outputs=[((4, 6), I32)])
    assert found.tolist() == x[:, [4, 5, 2, 3, 0, 1]].tolist()


def loop(lower: Any = 0, upper: Any = 2, body: Any = lambda i: None, **more: Any) -> None:
    nl.fori_loop(lower, upper, body, **more)


def ordered(action: Callable[[], Any]) -> None:
    with nl.no_reorder():
        action()


CHECKS = {
    "register without a value": Check(
        lambda: nisa.register_store(empty(1, 1, dtype=nl.int32), nisa.register_alloc()),
        "holds nothing yet",
        lambda: nisa.register_store(empty(1, 1, dtype=nl.int32), nisa.register_alloc(1)),
    ),
    "more than one element": Check(
        lambda: nisa.register_load(nisa.register_alloc(), tile(1, 2, dtype=nl.int32)),
        "expected one element",
        lambda: loaded(1),
    ),
    "register of a float": Check(
        lambda: nisa.register_load(nisa.register_alloc(), tile(1, 1)), "a register holds", lambda: loaded(1)
    ),
    "unwritten element": Check(
        lambda: nisa.scalar_load(empty(1, 1, dtype=nl.int32)), "uninitialised read", lambda: scalar()
    ),
    "constant too wide": Check(
        lambda: nisa.register_alloc(2**32), "expected a 32-bit int", lambda: nisa.register_alloc(2**32 - 1)
    ),
    "unsigned scalar": Check(lambda: scalar(dtype=nl.uint32), "a scalar is int32 or int64", scalar),
    "storing an int": Check(
        lambda: nisa.scalar_store(empty(1, 1, dtype=nl.int32), 3),
        "is no NkiScalar",
        lambda: nisa.scalar_store(empty(1, 1, dtype=nl.int32), scalar(3)),
    ),
    "storing at another width": Check(
        lambda: nisa.scalar_store(empty(1, 1, dtype=nl.int64), scalar()),
        "store at the scalar's width",
        lambda: nisa.scalar_store(empty(1, 1, dtype=nl.int64), scalar(dtype=nl.int64)),
    ),
    "mixing widths": Check(
        lambda: scalar() + scalar(dtype=nl.int64), "scalars of one width", lambda: scalar() + scalar()
    ),
    "int64 offset on chip": Check(
        lambda: moved(tile(4, 6), scalar(dtype=nl.int64)), "on chip an offset has 32 bits", lambda: moved(tile(4, 6))
    ),
    "slice beyond the end": Check(
        lambda: moved(tile(4, 6), loaded(5)), "outside the 5 positions", lambda: moved(tile(4, 6), loaded(4))
    ),
    "slice of partitions": Check(
        lambda: tile(4, 6)[nl.ds(loaded(0), 2)],
        "partitions of an on-chip tensor",
        lambda: nl.zeros((4, 6), nl.float32, nl.hbm)[nl.ds(loaded(0), 2)],
    ),
    "int64 bound": Check(
        lambda: loop(upper=scalar(dtype=nl.int64)), "compared at 32 bits", lambda: loop(upper=scalar())
    ),
    "body that returns": Check(lambda: loop(body=lambda i: 1), "it returns None", loop),
    "step": Check(lambda: loop(step=0), "a positive int", lambda: loop(step=1)),
    "while_loop without a condition": Check(
        lambda: nl.while_loop(loaded(1), lambda r: None), "the condition is None", lambda: nl.while_loop(loaded(0), id)
    ),
    "loop inside no_reorder": Check(lambda: ordered(loop), "may not stand inside", lambda: ordered(scalar)),
    "int64 tile": Check(
        lambda: empty(1, 2, dtype=nl.int64), "one element, for scalar_load", lambda: empty(1, 1, dtype=nl.int64)
    ),
    "dynamic_range": Check(lambda: nl.dynamic_range, "nl.fori_loop", loop),
}


@pytest.mark.parametrize("name", CHECKS)
def test_refusals(name: str) -> None:
    CHECKS[name].hold()


@pytest.mark.parametrize(
    ("version", "use"), [("0.6", scalar), ("0.5", loop), ("0.5", lambda: nl.while_loop(loaded(0), id))]
)
def test_a_machine_with_an_older_nki_lacks_them(
    monkeypatch: pytest.MonkeyPatch, version: str, use: Callable[[], Any]
) -> None:
    run(use)
    monkeypatch.setenv("NKI_STAND_IN_VERSION", version)
    with pytest.raises(nisa.NkiValidationError, match=r"is new in NKI 0\.[67], and NKI_STAND_IN_VERSION"):
        run(use)
    run(lambda: loaded(1))
    monkeypatch.setenv("NKI_STAND_IN_VERSION", "0.7")
    run(use)
