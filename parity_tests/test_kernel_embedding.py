"""The embedding's gather, and the scatter-add that is its gradient, on NKI."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch_neuronx import wrap_nki

from parity_tests.kernel_checks import assert_close, check_slope, cores, dtypes, neuron, random
from recipe.kernels.embedding import EmbeddingFunction, NkiEmbedding, embedding_reference, embedding_scatter_add


def embedding(table: Tensor, dtype: torch.dtype, lnc: int) -> NkiEmbedding:
    module = NkiEmbedding(*table.shape, dtype, lnc).to("neuron")
    with torch.no_grad():
        module.weight.copy_(table)
    return module


def some_tokens(rows: int, *shape: int, seed: int = 0) -> Tensor:
    return torch.randint(0, rows, shape, generator=torch.Generator().manual_seed(seed))


def scatter_add(rows: Tensor, tokens: Tensor, height: int, lnc: int = 1) -> Tensor:
    zeros = torch.zeros(height, rows.size(1))
    found = wrap_nki(embedding_scatter_add)[lnc](
        drows=rows.to("neuron"), tokens=tokens.view(-1, 1).int().to("neuron"), dtable=zeros.to("neuron")
    )
    return torch.as_tensor(found.cpu())


@cores
@dtypes
@pytest.mark.parametrize(
    ("height", "width", "shape"),
    [(1, 1, (1,)), (7, 3, (2, 127)), (300, 65, (129,)), (5, 600, (260,)), (1000, 33, (4, 64))],
)
def test_embedding(height: int, width: int, shape: tuple[int, ...], dtype: torch.dtype, lnc: int) -> None:
    table, tokens = random(height, width, dtype=torch.float32), some_tokens(height, *shape)
    drows = random(*shape, width, dtype=dtype, seed=1)
    module = embedding(table, dtype, lnc)
    rows = module(tokens.to("neuron"))
    assert rows.dtype == dtype
    assert torch.equal(rows.cpu(), embedding_reference(tokens, table, dtype))
    rows.backward(drows.to("neuron"))
    assert module.weight.grad is not None

    def added(values: Tensor) -> Tensor:
        zeros = torch.zeros(height, width, dtype=torch.float64)
        return zeros.index_add_(0, tokens.flatten(), values.double().view(-1, width))

    assert_close(module.weight.grad, added(drows), "dtable", added(drows.abs()))
    assert torch.equal(
        embedding_reference(tokens, table, dtype), torch.nn.functional.embedding(tokens, table).to(dtype)
    )
    if height > 1:
        others = (tokens + 1) % height
        assert not torch.equal(rows.cpu(), table[others].to(dtype))
        with pytest.raises(AssertionError, match="beyond the tolerance"):
            assert_close(module.weight.grad, added(drows).roll(1, 0), "control", added(drows.abs()))


def test_gradient_is_the_slope() -> None:
    tokens = some_tokens(9, 20).to("neuron")
    check_slope(
        lambda table: EmbeddingFunction.apply(tokens, table, torch.float32, 2),  # type: ignore[no-untyped-call]
        [random(9, 8, dtype=torch.float32)],
    )


@pytest.mark.parametrize("seed", range(3))
def test_any_order_of_the_rows_gives_the_same_sum(seed: int) -> None:
    """Whole numbers, so that sums are exact: not a bit may differ. Three tokens for 300 rows: many duplicates."""
    rows = random(300, 40, dtype=torch.float32, scale=50.0).round()
    tokens = some_tokens(3, 300) * 4
    order = torch.randperm(300, generator=torch.Generator().manual_seed(seed))
    first = scatter_add(rows, tokens, 10)
    assert torch.equal(first, torch.zeros(10, 40).index_add_(0, tokens, rows))
    assert torch.equal(first, scatter_add(rows[order], tokens[order], 10, lnc=2))
    assert not torch.equal(first, scatter_add(rows[order], tokens, 10))


def test_all_rows_alike_and_all_rows_different() -> None:
    rows = random(256, 16, dtype=torch.float32, scale=50.0).round()
    alike = scatter_add(rows, torch.full((256,), 5), 300)
    assert torch.equal(alike[5], rows.sum(0))
    assert alike.count_nonzero() == alike[5].count_nonzero() > 0
    order = torch.randperm(256, generator=torch.Generator().manual_seed(0))
    assert torch.equal(scatter_add(rows, order, 256)[order], rows)


def test_it_adds_to_what_is_there() -> None:
    (held,) = neuron(torch.full((4, 8), 2.0))
    tokens = torch.tensor([[1], [1], [3]], dtype=torch.int32).to("neuron")
    found = wrap_nki(embedding_scatter_add)[2](drows=torch.ones(3, 8).to("neuron"), tokens=tokens, dtable=held)
    assert found.cpu()[:, 0].tolist() == held.cpu()[:, 0].tolist() == [2.0, 4.0, 2.0, 3.0]


@pytest.mark.parametrize("token", [-1, 6])
def test_a_token_outside_of_the_table_is_refused(token: int) -> None:
    module = embedding(random(6, 4, dtype=torch.float32), torch.float32, 1)
    with pytest.raises(Exception, match=rf"embedding_gather .*offset {token} of row 1 lies outside the 6 rows"):
        module(torch.tensor([2, token]).to("neuron"))


def test_the_table_of_the_contest_fits() -> None:
    """8192 tokens, width 1152."""
    module = embedding(random(8192, 1152, dtype=torch.float32), torch.bfloat16, 2)
    tokens = some_tokens(8192, 1024)
    module(tokens.to("neuron")).sum().backward()
    assert module.weight.grad is not None
    assert torch.equal(module.weight.grad.cpu()[:, 7], torch.bincount(tokens, minlength=8192).float())
