"""What NKI had before 0.5 is refused by name, with what took its place; what took its place runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import nki
import nki.compiler
import nki.isa as nisa
import nki.language as nl
import pytest

from parity_tests.nki_program import Check, numbers, on_chip, run, same_bits, tile

I32 = nl.int32

CHECKS = {
    "add": Check(lambda: tile(4, 6) + tile(4, 6), "use nl.add", lambda: nl.add(tile(4, 6), tile(4, 6))),
    "a number first": Check(lambda: 2.0 * tile(4, 6), "use nl.multiply", lambda: nl.multiply(tile(4, 6), 2.0)),
    "in place": Check(lambda: in_place(tile(4, 6)), "use nl.subtract", lambda: nl.subtract(tile(4, 6), 1.0)),
    "divide": Check(lambda: tile(4, 6) / 2.0, "use nl.reciprocal", lambda: nl.reciprocal(tile(4, 6, value=2.0))),
    "product": Check(
        lambda: tile(4, 6) @ tile(4, 6), "use nl.matmul", lambda: nl.matmul(tile(4, 6), tile(4, 6), transpose_x=True)
    ),
    "negative": Check(lambda: -tile(4, 6), "use nl.negative", lambda: nl.negative(tile(4, 6))),
    "bits": Check(
        lambda: ~tile(4, 6, dtype=I32, value=1), "use nl.invert", lambda: nl.invert(tile(4, 6, dtype=I32, value=1))
    ),
    "compare": Check(lambda: tile(4, 6) > 0, "use nl.greater", lambda: nl.greater(tile(4, 6), 0.0)),
    "astype": Check(
        lambda: tile(4, 6).astype(nl.bfloat16), "use nl.copy", lambda: nl.copy(tile(4, 6), dtype=nl.bfloat16)
    ),
    "expand_dims": Check(lambda: tile(4, 6).expand_dims(1), "use expand_dim(dim)", lambda: tile(4, 6).expand_dim(1)),
    "mask of a load": Check(lambda: nl.load(hbm(), mask=True), "no mask=", lambda: nl.load(hbm())),
    "mask of an operator": Check(
        lambda: nl.exp(tile(4, 6), mask=True), "no function has a mask", lambda: nl.exp(tile(4, 6))
    ),
    "mask of a reduction": Check(
        lambda: nl.sum(tile(4, 6), axis=1, mask=True), "no mask=", lambda: nl.sum(tile(4, 6), axis=1)
    ),
    "a buffer of the compiler": Check(
        lambda: nl.ndarray((4, 6), nl.float32, buffer=nki.compiler.sbuf.alloc(None)),
        "use buffer=nl.sbuf",
        lambda: nl.ndarray((4, 6), nl.float32, buffer=nl.sbuf),
    ),
}


def in_place(x: Any) -> None:
    x -= 1.0


def hbm() -> Any:
    return nl.zeros((4, 6), nl.float32, buffer=nl.private_hbm)


@pytest.mark.parametrize("name", CHECKS)
def test_it_is_refused_and_its_replacement_runs(name: str) -> None:
    CHECKS[name].hold()


@pytest.mark.parametrize(
    ("body", "instruction"),
    [
        (lambda: tile(4, 6) * 2.0, "*"),
        (lambda: tile(4, 6).astype(nl.bfloat16), None),
        (lambda: nl.sum(tile(4, 6), axis=1, mask=True), "nki.language.sum"),
        (lambda: nisa.tensor_copy(dst=tile(4, 6), src=tile(4, 6), mask=True), "nki.isa.tensor_copy"),
        (lambda: nl.arange(4), None),
    ],
    ids=["operator", "attribute", "function", "instruction", "module"],
)
def test_the_error_names_the_kernel_and_what_was_called(body: Callable[[], Any], instruction: str | None) -> None:
    with pytest.raises(nki.NkiValidationError) as caught:
        run(body)
    assert (caught.value.kernel, caught.value.instruction) == ("probe", instruction)
    assert (caught.value.file, caught.value.line) == (__file__, body.__code__.co_firstlineno)


@pytest.mark.parametrize(
    ("module", "name", "instead"),
    [(nki, "benchmark", "a call of the kernel"), (nki.compiler, "psum", "buffer=nl.psum")],
)
def test_a_module_lacks_the_name_and_says_what_to_use(module: Any, name: str, instead: str) -> None:
    assert not hasattr(module, name)
    with pytest.raises(nki.NkiValidationError, match=f"removed before NKI 0.5: use {instead}"):
        getattr(module, name)
    with pytest.raises(AttributeError, match="not in this stand-in"):
        _ = module.no_such_name
    assert hasattr(nki, "simulate")


def test_other_attributes_of_a_tensor_are_just_absent() -> None:
    def body() -> None:
        x = tile(4, 6)
        assert not hasattr(x, "astype")
        assert getattr(x, "no_such_attribute", None) is None
        assert x != 0  # a kernel may ask whether an argument is a number or None
        _ = x.no_such_attribute

    with pytest.raises(AttributeError, match="'NkiTensor' object has no attribute 'no_such_attribute'"):
        run(body)


def test_reinterpret_cast_is_view() -> None:
    def body(out: Any, x: Any) -> None:
        nisa.tensor_copy(dst=out, src=x.reinterpret_cast(nl.uint16))

    x = numbers(4, 6)
    [found] = on_chip(body, x, outputs=[((4, 12), nl.uint16)])
    assert same_bits(found, x.view("u2"))
