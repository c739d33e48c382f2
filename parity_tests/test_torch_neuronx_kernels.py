"""NKI kernels launched on neuron tensors, and ``torch.compile(backend="neuron")`` with and without them."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import nki
import nki.isa as nisa
import nki.language as nl
import pytest
import torch
import torch._dynamo
from torch import Tensor, nn
from torch_neuronx import compiler, nki_op, wrap_nki

from scorer.room.observer import graphs
from scorer.room.observer.calls import Followed
from scorer.room.observer.census import Census


@nki.jit
def scaled(x, factor=2.0):  # type: ignore[no-untyped-def]
    tile = nl.ndarray(shape=x.shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=factor)
    result = nl.ndarray(shape=x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=result, src=tile)
    return result


@nki.jit
def doubled_in_place(x):  # type: ignore[no-untyped-def]
    tile = nl.ndarray(shape=x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=2.0)
    nisa.dma_copy(dst=x, src=tile)


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return wrap_nki(scaled)[1](x=x, factor=3.0)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        return wrap_nki(scaled)[1](x=grads[0].contiguous(), factor=3.0)


@nki_op("parity_tests::scaled", mutates_args={})
def scaled_op(x: Tensor, factor: float) -> Tensor:
    return wrap_nki(scaled)[1](x=x, factor=factor)


def _keep_factor(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.factor = inputs[1]


scaled_op.register_autograd(
    lambda ctx, grad: (scaled_op(grad.contiguous(), ctx.factor), None), setup_context=_keep_factor
)


@nki_op("parity_tests::doubled_", mutates_args={"x"})
def doubled_op(x: Tensor) -> None:
    wrap_nki(doubled_in_place)[1](x)


@pytest.fixture
def launches(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the kernels launched during the test, counted as the observer does."""
    counted: list[str] = []
    call = nki.Kernel.__call__

    def observed(self: nki.Kernel, *args: Any, **kwargs: Any) -> Any:
        counted.append(self.__name__)
        return call(self, *args, **kwargs)

    monkeypatch.setattr(nki.Kernel, "__call__", observed)
    return counted


@pytest.fixture(autouse=True)
def fresh_compiler() -> Iterator[None]:
    yield
    torch._dynamo.reset()


def test_a_wrapped_kernel_takes_and_gives_neuron_tensors(launches: list[str]) -> None:
    x = torch.arange(12.0).view(4, 3)
    for run in (wrap_nki(scaled)[1], wrap_nki(scaled), scaled, scaled[1]):
        there = run(x.to("neuron"), factor=3.0)
        assert there.device.type == "neuron"
        assert torch.equal(there.cpu(), x * 3)
    assert launches == ["scaled"] * 4
    low = wrap_nki(scaled)[1](x=x.bfloat16().to("neuron"))
    assert low.dtype == torch.bfloat16
    assert torch.equal(low.cpu(), (x * 2).bfloat16())


def test_a_kernel_sees_a_views_elements() -> None:
    base = torch.arange(12.0, device="neuron").view(3, 4)
    assert torch.equal(scaled(base.t().contiguous()).cpu(), base.cpu().t() * 2)
    assert torch.equal(scaled(base[1:]).cpu(), base.cpu()[1:] * 2)


def test_a_kernel_may_write_its_argument() -> None:
    x = torch.ones(4, 3, device="neuron")
    doubled_op(x)
    doubled_op(x)
    assert x.tolist() == [[4.0] * 3] * 4


def test_tensors_elsewhere_are_refused(launches: list[str]) -> None:
    with pytest.raises(TypeError, match=r"kernel scaled: argument x is a tensor on cpu; .*\.to\('neuron'\)"):
        wrap_nki(scaled)[1](x=torch.ones(4, 3))
    assert launches == []


def test_a_kernel_in_an_autograd_function_and_as_an_operator(launches: list[str]) -> None:
    for function in (Scale.apply, lambda x: scaled_op(x, 3.0)):
        x = torch.ones(4, 3, device="neuron").requires_grad_()
        result = function(x)
        result.sum().backward()
        assert x.grad is not None
        assert result.tolist() == x.grad.tolist() == [[3.0] * 3] * 4
    assert launches == ["scaled"] * 4


@pytest.mark.parametrize("name", ["wrapped", "autograd function", "operator"])
def test_a_launch_is_one_node_of_a_compiled_graph(name: str, launches: list[str]) -> None:
    function = {
        "wrapped": lambda x: wrap_nki(scaled)[1](x=x, factor=3.0) + 1,
        "autograd function": lambda x: Scale.apply(x) + 1,
        "operator": lambda x: scaled_op(x, 3.0) + 1,
    }[name]
    compiled = torch.compile(function, backend="neuron", fullgraph=True)
    before = len(compiler.graphs)
    x = torch.ones(4, 3, device="neuron").requires_grad_(name != "wrapped")
    for _ in range(3):
        result = compiled(x)
    assert result.tolist() == [[4.0] * 3] * 4
    assert launches == ["scaled"] * 3  # tracing launched nothing
    assert len(compiler.graphs) == before + 1
    if x.requires_grad:
        result.sum().backward()
        assert x.grad is not None
        assert x.grad.tolist() == [[3.0] * 3] * 4


def test_compiling_changes_no_bit_and_recompiles_for_another_shape() -> None:
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 4)).to("neuron")
    compiled = torch.compile(module, backend="neuron", fullgraph=True, mode="default")
    before = len(compiler.graphs)
    x = torch.randn(5, 8, device="neuron")
    eager = module(x)
    eager.square().sum().backward()
    expected = [parameter.grad.cpu() for parameter in module.parameters() if parameter.grad is not None]
    module.zero_grad()
    result = compiled(x)
    assert torch.equal(result.cpu(), eager.cpu())
    assert not torch.equal(result.cpu(), module(x + 1).cpu())
    result.square().sum().backward()
    found = [parameter.grad.cpu() for parameter in module.parameters() if parameter.grad is not None]
    assert len(found) == 4
    assert all(torch.equal(a, b) for a, b in zip(found, expected, strict=True))
    compiled(x)
    assert len(compiler.graphs) == before + 1
    compiled(x[:2].clone())
    assert len(compiler.graphs) == before + 2
    *_, first, second = torch.neuron.get_dynamo_metrics()
    assert first.graph_id != second.graph_id
    assert first.graph_node_count == second.graph_node_count == 3


def test_the_observer_is_told_of_each_compilation() -> None:
    told: list[str] = []

    class Session:
        compiling = staticmethod(told.append)

    handler = torch._dynamo.callback.callback_handler
    graphs.install(torch._dynamo.callback, cast(Any, Session()))
    try:
        compiled = torch.compile(lambda x: x - 1, backend="neuron")
        for rows in (2, 2, 3):
            compiled(torch.zeros(rows, device="neuron"))
    finally:
        handler.remove_start_callback(handler.start_callbacks[-1])
    assert [name.partition("/")[2] for name in told] == ["0 (dynamo)", "1 (dynamo)"]
    compiled(torch.zeros(5, device="neuron"))
    assert len(told) == 2


def test_a_whole_graph_is_compiled_and_its_operators_are_counted_while_they_are_followed() -> None:
    program = SimpleNamespace(site=lambda frame: None, frame=lambda frame: None)
    session = SimpleNamespace(busy=False, in_backward=False, backward_frame=None, working=contextlib.nullcontext)
    x = torch.zeros(6, 2, device="neuron")
    compiled = torch.compile(lambda x: (x + 1).cos(), backend="neuron", fullgraph=True)
    before = len(compiler.graphs)
    followed = Followed(torch, cast(Any, program), session)
    followed.begin()
    compiled(x)
    followed.end()
    census = Census(torch, cast(Any, program), session, time.monotonic)
    census.begin()
    compiled(x)
    rows = census.end(None)["rows"]
    assert len(compiler.graphs) == before + 1
    assert {row["operator"]: row["count"] for row in rows} == {"aten::add": 1, "aten::cos": 1}
    counted = {row["operator"]: row["count"] for row in followed.take()[0]}
    assert counted.items() >= {"aten::add": 1, "aten::cos": 1}.items()


def test_attention_compiles() -> None:
    q = torch.randn(1, 8, 2, 4, device="neuron").transpose(1, 2)

    def attend(q: Tensor) -> Tensor:
        return nn.functional.scaled_dot_product_attention(q, q, q, is_causal=True).transpose(1, 2).view(1, 8, 8)

    compiled = torch.compile(attend, backend="neuron", fullgraph=True)
    assert torch.equal(compiled(q).cpu(), attend(q).cpu())


def test_dynamic_shapes_and_breaks_are_refused() -> None:
    x = torch.ones(3, device="neuron")
    with pytest.raises(Exception, match="fixed shapes; drop dynamic=True"):
        torch.compile(lambda x: x * 2, backend="neuron", dynamic=True)(x)

    def breaks(x: Tensor) -> Tensor:
        torch._dynamo.graph_break()
        return x + 1

    with pytest.raises(Exception, match="graph_break"):
        torch.compile(breaks, backend="neuron", fullgraph=True)(x)
    assert torch.compile(breaks, backend="neuron")(x).tolist() == [2.0] * 3
