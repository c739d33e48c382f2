"""Launching kernels: arguments, results, logical cores, inlining, torch tensors, the example of a whole kernel."""

from __future__ import annotations

import inspect
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, NamedTuple

import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np
import pytest
import torch

from parity_tests.nki_program import BF16, FP32, numbers, same_bits


@nki.jit
def rmsnorm_fwd(x: Any, w: Any, eps: float) -> Any:
    """x [T, D], w [D] -> x / rms(x) * w."""
    T, D = x.shape  # noqa: N806
    P = nl.tile_size.pmax  # noqa: N806
    out = nl.ndarray((T, D), dtype=x.dtype, buffer=nl.shared_hbm)
    wt = nl.ndarray((P, D), dtype=w.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=wt, src=w.ap(pattern=[[0, P], [1, D]], offset=0))
    core, cores = nl.program_id(0), nl.num_programs(0)
    tiles = (T + P - 1) // P
    assert tiles % cores == 0
    for t in range(core * tiles // cores, (core + 1) * tiles // cores):
        r0 = t * P
        n = min(P, T - r0)
        xt = nl.ndarray((P, D), dtype=x.dtype, buffer=nl.sbuf)
        sq = nl.ndarray((P, D), dtype=nl.float32, buffer=nl.sbuf)
        ss = nl.ndarray((P, 1), dtype=nl.float32, buffer=nl.sbuf)
        r = nl.ndarray((P, 1), dtype=nl.float32, buffer=nl.sbuf)
        y = nl.ndarray((P, D), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=xt[0:n, 0:D], src=x[r0 : r0 + n, 0:D])
        nisa.activation(
            dst=sq[0:n, 0:D],
            op=nl.square,
            data=xt[0:n, 0:D],
            reduce_op=nl.add,
            reduce_res=ss[0:n, 0:1],
            reduce_cmd=nisa.reduce_cmd.reset_reduce,
        )
        nisa.activation(dst=r[0:n, 0:1], op=nl.rsqrt, data=ss[0:n, 0:1], scale=1.0 / D, bias=eps)
        nisa.scalar_tensor_tensor(
            dst=y[0:n, 0:D],
            data=xt[0:n, 0:D],
            op0=nl.multiply,
            operand0=r[0:n, 0:1],
            op1=nl.multiply,
            operand1=wt[0:n, 0:D],
        )
        nisa.dma_copy(dst=out[r0 : r0 + n, 0:D], src=y[0:n, 0:D])
    return out


def rmsnorm(x: np.ndarray, w: np.ndarray, eps: float) -> np.ndarray:
    """The same in NumPy, in the kernel's order of operations."""
    wide = x.astype(np.float32)
    mean = np.square(wide).sum(axis=1, keepdims=True) * np.float32(1.0 / x.shape[1])
    r = np.float32(1.0) / np.sqrt(mean + np.float32(eps))
    result: np.ndarray = (wide * r * w.astype(np.float32)).astype(x.dtype)
    return result


@nki.jit
def double(x: Any) -> Any:
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=t, src=x)
    nisa.tensor_scalar(dst=t, data=t, op0=nl.multiply, operand0=2.0)
    nisa.dma_copy(dst=out, src=t)
    return out


@pytest.mark.parametrize("dtype", [FP32, BF16])
@pytest.mark.parametrize("lnc", [1, 2])
@pytest.mark.parametrize("rows", [256, 200])
def test_rmsnorm(dtype: Any, lnc: int, rows: int) -> None:
    x, w = numbers(rows, 48, dtype=dtype), numbers(48, dtype=dtype, seed=1)
    found = rmsnorm_fwd[lnc](x, w, 1e-6)
    assert same_bits(found, rmsnorm(x, w, 1e-6))
    assert not same_bits(found, rmsnorm(x, w, 1e-2))
    assert same_bits(nki.simulate(rmsnorm_fwd[lnc])(x, w, 1e-6), found)


def test_torch_in_torch_out() -> None:
    x = torch.randn(256, 16, dtype=torch.bfloat16, requires_grad=True)
    w = torch.rand(16, dtype=torch.bfloat16)
    found = rmsnorm_fwd[2](x=x, w=w, eps=1e-6)
    expected = rmsnorm(x.detach().view(torch.uint16).numpy().view(BF16), w.view(torch.uint16).numpy().view(BF16), 1e-6)
    assert (found.dtype, found.shape, found.requires_grad) == (torch.bfloat16, (256, 16), False)
    assert same_bits(found.view(torch.uint16).numpy().view(BF16), expected)


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.bfloat16, torch.float16, torch.int32, torch.uint8, torch.float8_e5m2, torch.bool]
)
def test_torch_types_pass_through(dtype: torch.dtype) -> None:
    @nki.jit
    def same(x: Any) -> Any:
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        nisa.dma_copy(dst=out, src=x)
        return out

    x = torch.arange(12).reshape(3, 4).to(dtype)
    found = same(x)
    assert found.dtype == dtype
    assert torch.equal(found.float(), x.float())
    assert not torch.equal(found.float(), x.float() + 1)


def test_importing_and_running_does_not_import_torch() -> None:
    neuron = Path(nki.__file__).parents[1]
    program = (
        "import sys, numpy, nki, nki.language as nl, nki.isa as nisa\n"
        "@nki.jit\n"
        "def f(x):\n"
        "    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)\n"
        "    nisa.dma_copy(dst=out, src=x)\n"
        "    return out\n"
        "f(numpy.ones((2, 2), numpy.float32))\n"
        "print('torch' in sys.modules, nki.STAND_IN, nki.__version__)\n"
    )
    found = subprocess.run(
        [sys.executable, "-c", program], env={"PYTHONPATH": str(neuron)}, capture_output=True, text=True, check=True
    )
    assert found.stdout.split() == ["False", "True", "0.5.0+standin"]


def test_arguments_are_updated_in_place_and_come_back_as_themselves() -> None:
    @nki.jit
    def clear_first_row(x: Any) -> Any:
        zero = nl.zeros((1, 4), nl.float32)
        nisa.dma_copy(dst=x[0:1, 0:4], src=zero)
        return x

    x = torch.ones(2, 4)
    assert clear_first_row(x) is x
    assert x.tolist() == [[0.0] * 4, [1.0] * 4]
    with pytest.raises(nki.NkiValidationError, match="not contiguous"):
        clear_first_row(torch.ones(4, 2).t())


def test_a_non_contiguous_argument_is_read_in_its_own_order() -> None:
    x = numbers(4, 6).T
    assert same_bits(double(x), x * np.float32(2))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.zeros((2, 2)), "float64"),
        (torch.zeros(2, 2, dtype=torch.int64), "int64"),
        (np.zeros((0, 2), np.float32), "size 0"),
        (np.array(1, np.float32), "at least one dimension"),
        (torch.zeros(2, 2, device="meta"), "device meta"),
    ],
)
def test_arguments_that_cannot_be_hbm_tensors(value: Any, message: str) -> None:
    with pytest.raises(nki.NkiValidationError, match=message):
        double(value)


def test_several_results_and_none() -> None:
    @nki.jit
    def two(x: Any) -> Any:
        return double(x), double(x)

    @nki.jit
    def nothing(x: Any) -> None:
        nisa.dma_copy(dst=x, src=nl.zeros((2, 2), nl.float32))

    x = np.ones((2, 2), np.float32)
    assert [same_bits(item, x * 2) for item in two(x)] == [True, True]
    assert nothing(x) is None
    assert not x.any()


@pytest.mark.parametrize(
    ("buffer", "rows", "message"),
    [
        (nl.private_hbm, 4, "must be allocated with buffer=nl.shared_hbm"),
        (nl.sbuf, 4, "lies in nl.sbuf"),
        (nl.shared_hbm, 3, "6 of 24 elements of the result"),
        (nl.shared_hbm, 4, None),
    ],
)
def test_results_are_shared_hbm_and_fully_written(buffer: Any, rows: int, message: str | None) -> None:
    @nki.jit
    def kernel(x: Any) -> Any:
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=buffer)
        nisa.dma_copy(dst=out[0:rows, :], src=x[0:rows, :])
        return out

    x = numbers(4, 6)
    if message is None:
        assert same_bits(kernel(x), x)
    else:
        with pytest.raises(nki.NkiValidationError, match=message) as caught:
            kernel(x)
        line = kernel.func.__code__.co_firstlineno
        assert (caught.value.file, caught.value.line) == (__file__, line), "where the kernel is defined"


class Pair(NamedTuple):
    first: Any
    second: Any


def test_a_named_tuple_goes_in_and_comes_out() -> None:
    @nki.jit
    def kernel(given: Pair) -> Pair:
        results = []
        for tile in given:
            results.append(nl.ndarray(tile.shape, dtype=tile.dtype, buffer=nl.shared_hbm))
            nisa.dma_copy(dst=results[-1], src=tile)
        assert given.first is given[0]
        return Pair(*results)

    x, y = numbers(4, 6), numbers(4, 6, seed=1)
    for lnc in (1, 2):
        found = kernel[lnc](Pair(first=x, second=y))
        assert isinstance(found, Pair)
        assert same_bits(found.first, x)
        assert same_bits(found.second, y)
    with pytest.raises(nki.NkiValidationError, match=r"argument 0\.1: shape \(\)"):
        kernel(Pair(first=x, second=np.array(1.0, np.float32)))
    with pytest.raises(nki.NkiValidationError, match=r"result 1: 3; a kernel returns"):
        nki.jit(lambda x: Pair(x, 3))(x)


@pytest.mark.parametrize("lnc", [1, 2])
def test_of_nested_results_the_tensors_come_back_in_order(lnc: int) -> None:
    x, y = numbers(4, 6), numbers(4, 6, seed=1)

    def launch(shape: Any) -> Any:
        return nki.jit(lambda x, y: shape(double(x), double(y)))[lnc](x, y)

    for shape in (lambda a, b: ((a,), b), lambda a, b: [[a, [b]]], lambda a, b: (a, None, Pair(b, None))):
        found = launch(shape)
        assert type(found) is tuple
        assert [same_bits(part, whole * 2) for part, whole in zip(found, (x, y), strict=True)] == [True, True]
        assert not same_bits(found[0], found[1])
    assert same_bits(launch(lambda a, b: (a, None)), x * 2), "one alone is no tuple"
    assert launch(lambda a, b: (None, None)) is None
    flat = launch(lambda a, b: [a])
    assert type(flat) is list
    assert len(flat) == 1
    with pytest.raises(nki.NkiValidationError, match=r"result 1\.0: a dictionary"):
        launch(lambda a, b: (a, ({"b": b},)))
    with pytest.raises(nki.NkiValidationError, match="result 0: a dictionary"):
        launch(lambda a, b: {"a": a})


def test_a_result_is_a_tensor_and_a_whole_one() -> None:
    with pytest.raises(nki.NkiValidationError, match=r"returns nl\.shared_hbm tensors"):
        nki.jit(lambda x: 3)(np.ones((2, 2), np.float32))
    with pytest.raises(nki.NkiValidationError, match="return whole tensors"):
        nki.jit(lambda x: x[0:1])(np.ones((2, 2), np.float32))


def test_each_core_writes_its_rows() -> None:
    @nki.jit
    def kernel(x: Any, rows_per_core: int, first_row: int, shift: int = 0) -> Any:
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        for row in range(rows_per_core):
            position = first_row * nl.program_id(0) + row
            source = position - shift * nl.program_id(0)
            nisa.dma_copy(dst=out[position : position + 1, :], src=x[source : source + 1, :])
        return out

    x = numbers(4, 6)
    assert same_bits(kernel[2](x, 2, 2), x)
    assert same_bits(kernel[2](x, 3, 1), x), "both copy the same rows to the same places"
    with pytest.raises(nki.NkiValidationError, match="12 of 24 elements"):
        kernel[2](x, 1, 3)
    with pytest.raises(nki.NkiValidationError, match="data race: core 1 overwrites"):
        kernel[2](x, 3, 1, shift=1)


def test_a_core_may_not_read_what_the_other_wrote() -> None:
    @nki.jit
    def kernel(x: Any, own: bool) -> Any:
        core = nl.program_id(0)
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        nisa.dma_copy(dst=out[core : core + 1, :], src=x[core : core + 1, :])
        seen = core if own else 0
        t = nl.ndarray((1, 6), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=t, src=out[seen : seen + 1, :])
        return out

    x = numbers(2, 6)
    assert same_bits(kernel[2](x, True), x)
    with pytest.raises(nki.NkiValidationError, match="data race: core 1 reads"):
        kernel[2](x, False)


def test_cores_have_the_same_control_flow() -> None:
    @nki.jit
    def kernel(x: Any) -> Any:
        return nl.ndarray((2, 6 + nl.program_id(0)), dtype=x.dtype, buffer=nl.shared_hbm)

    with pytest.raises(nki.NkiValidationError, match="same control flow"):
        kernel[2](numbers(2, 6))


@pytest.mark.parametrize("lnc", [0, 3, (2,), "2", True])
def test_the_number_of_cores_is_a_bare_1_or_2(lnc: Any) -> None:
    with pytest.raises(nki.NkiValidationError, match="bare 1 or 2"):
        double[lnc]


def test_a_kernel_for_another_number_of_cores_than_configured_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    x = numbers(2, 6)
    monkeypatch.setenv("NEURON_LOGICAL_NC_CONFIG", "2")
    with pytest.raises(nki.NkiValidationError, match="NCC_EVRF066"):
        double(x)
    monkeypatch.setenv("NEURON_LOGICAL_NC_CONFIG", "1")
    assert same_bits(double(x), x * 2)


def test_a_kernel_keeps_its_source_name_and_function() -> None:
    assert isinstance(rmsnorm_fwd, nki.Kernel)
    assert "nisa.scalar_tensor_tensor" in inspect.getsource(rmsnorm_fwd.func)
    assert "nisa.scalar_tensor_tensor" in inspect.getsource(rmsnorm_fwd)
    assert (rmsnorm_fwd.__name__, rmsnorm_fwd.lnc, rmsnorm_fwd[2].lnc) == ("rmsnorm_fwd", 1, 2)
    assert rmsnorm_fwd[2].func is rmsnorm_fwd.func
    assert isinstance(nki.jit(mode="trace")(rmsnorm_fwd.func), nki.Kernel)


def test_every_launch_goes_through_kernel_call(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    original = nki.Kernel.__call__

    def counting(self: Any, *args: Any, **kwargs: Any) -> Any:
        seen.append(self.__name__)
        return original(self, *args, **kwargs)

    monkeypatch.setattr(nki.Kernel, "__call__", counting)
    x = numbers(2, 6)
    double(x)
    nki.simulate(double)(x)
    rmsnorm_fwd[2](numbers(256, 6), numbers(6), 1e-6)
    assert seen == ["double", "double", "rmsnorm_fwd"]


def test_a_kernel_inside_a_kernel_is_inlined() -> None:
    @nki.jit
    def outer(x: Any) -> Any:
        return double(double(x))

    x = numbers(2, 6)
    assert same_bits(outer(x), x * 4)


def test_an_error_inside_an_inlined_kernel_is_located_there() -> None:
    @nki.jit
    def inner(x: Any) -> Any:
        return x[5:9]

    @nki.jit
    def outer(x: Any) -> Any:
        return inner(x)

    with pytest.raises(nki.NkiValidationError) as caught:
        outer(numbers(2, 6))
    assert caught.value.kernel == "outer"
    assert caught.value.line == inner.func.__code__.co_firstlineno + 2


def test_a_failed_launch_leaves_no_kernel_running() -> None:
    @nki.jit
    def fails(x: Any) -> Any:
        raise RuntimeError("inside")

    with pytest.raises(RuntimeError, match="inside"):
        fails(numbers(2, 6))
    x = numbers(2, 6)
    assert same_bits(double(x), x * 2)


def test_threads_launch_independently() -> None:
    x = numbers(64, 64)
    found: list[np.ndarray] = []

    def work() -> None:
        for _ in range(20):
            found.append(double(x))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 80
    assert all(same_bits(item, x * 2) for item in found)


def test_the_same_launch_gives_the_same_bits() -> None:
    x, w = numbers(2048, 128, dtype=BF16), numbers(128, dtype=BF16, seed=1)
    assert same_bits(rmsnorm_fwd[2](x, w, 1e-6), rmsnorm_fwd(x, w, 1e-6))


def test_jit_refuses_what_nki_removed() -> None:
    with pytest.raises(nki.NkiValidationError, match="platform_target"):
        nki.jit(platform_target="trn2")
    with pytest.raises(nki.NkiValidationError, match="does not know"):
        nki.jit(fast=True)
    assert isinstance(nki.jit(rmsnorm_fwd.func, mode="trace", debug_kernel=True), type(rmsnorm_fwd))


@pytest.mark.parametrize("op", ["exp", "tanh", "square", "rsqrt", "log"])
@pytest.mark.parametrize("columns", [1, 7, 129])
def test_a_row_does_not_depend_on_the_rows_beside_it(op: str, columns: int) -> None:
    """A model's logits may not depend on the batch: neither vector loops nor sums may see where a row lies."""

    @nki.jit
    def kernel(x: Any) -> Any:
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        total = nl.ndarray((x.shape[0], 1), dtype=x.dtype, buffer=nl.shared_hbm)
        xt = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
        tt = nl.ndarray((x.shape[0], 1), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=xt, src=x)
        nisa.activation_reduce(dst=xt, op=getattr(nl, op), data=xt, reduce_op=nl.add, reduce_res=tt)
        nisa.dma_copy(dst=out, src=xt)
        nisa.dma_copy(dst=total, src=tt)
        return out, total

    x = numbers(128, columns, low=0.5)
    out, total = kernel(x)
    for first, last in ((0, 1), (5, 38), (127, 128)):
        part, part_total = kernel(x[first:last].copy())
        assert same_bits(part, out[first:last])
        assert same_bits(part_total, total[first:last])
    assert not same_bits(out[0:1], out[1:2])
