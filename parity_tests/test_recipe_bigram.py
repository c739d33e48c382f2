"""The hashed bigram embedding: its hash, and a table whose gradient and step are those of its rows that were read."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from parity_tests.recipe_samples import on_cpu, small
from recipe.bigram import BigramEmbedding, bigrams_of
from recipe.checkpoint import model_config
from recipe.config import Config
from recipe.model import GPT, activation_dtype, make_model
from recipe.optim import make_optimizers
from recipe.ranks import Ranks
from recipe.row_table import EPS, RowAdagrad, RowTable, dense_parameters, row_tables

PAIRS: dict[str, Any] = {"bigram_rows": 97, "bigram_width": 8}


def tokens(batch: int, length: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, 64, (batch, length), generator=generator, dtype=torch.int32)


def filled(config: Config) -> GPT:
    torch.manual_seed(0)
    model = make_model(config, activation_dtype(config, torch.device(config.device)))
    model.initialize()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn(parameter.shape))
    return model.to(config.device)


def test_a_row_is_chosen_by_a_token_and_the_one_before_it() -> None:
    x = torch.tensor([[7, 7, 9, 7, 9]], dtype=torch.int32)
    rows = bigrams_of(x, 2**19)
    expected = [0, *((before * 31_337 + after) % (2**19 - 1) + 1 for before, after in ((7, 7), (7, 9), (9, 7), (7, 9)))]
    assert rows.tolist() == [expected]
    assert len(set(expected)) == 4
    assert rows.dtype == torch.int32


def test_no_pair_of_the_largest_vocabulary_leaves_32_bits() -> None:
    highest = torch.full((1, 2), 65_535, dtype=torch.int64)
    assert torch.equal(bigrams_of(highest.int(), 2**19), bigrams_of(highest, 2**19))
    assert bigrams_of(highest, 2**19)[0, 1].item() == (65_535 * 31_337 + 65_535) % (2**19 - 1) + 1
    with pytest.raises(ValueError, match="'bigram_rows' must be 0 where 'vocab_size' is above 65536"):
        on_cpu(**PAIRS, vocab_size=65_537)


def test_pairs_spread_over_the_table() -> None:
    """As evenly as chance would: of n pairs and as many rows, 1 / e of the rows get none."""
    pairs = torch.cartesian_prod(torch.arange(256), torch.arange(64))
    share = bigrams_of(pairs, 2**14)[:, 1].unique().numel() / 2**14
    assert share > 0.6


@pytest.mark.parametrize("width", [8, 32])
def test_causal_and_a_new_table_says_nothing(width: int) -> None:
    x = tokens(2, 12)
    changed = x.clone()
    changed[:, 7] = (changed[:, 7] + 1) % 64
    model = filled(on_cpu(**(PAIRS | {"bigram_width": width})))
    entry = model.embed
    assert isinstance(entry, BigramEmbedding)
    assert [t for t in range(12) if not torch.equal(entry(x)[:, t], entry(changed)[:, t])] == [7, 8]
    assert torch.equal(model(x)[:, :7], model(changed)[:, :7])
    with torch.no_grad():
        entry.pair.weight.zero_()
    assert torch.equal(entry(x), entry.token(x))


def test_gradients_gather_in_the_rows_that_were_read_over_micro_batches() -> None:
    """As autograd would find them for the whole table; the parameter itself has none."""
    table = RowTable(on_cpu(batch_size=1, seq_len=4, micro_batches=2), rows=6, width=3)
    weights = torch.randn(2, 1, 4, 3)
    reads = torch.tensor([[[1, 4, 4, 0]], [[4, 5, 1, 1]]], dtype=torch.int32)
    plain = torch.zeros(6, 3, requires_grad=True)
    for weight, rows in zip(weights, reads, strict=True):
        (table(rows) * weight).sum().backward()
        (plain[rows.long()] * weight).sum().backward()
    assert plain.grad is not None
    assert torch.allclose(table.gradient, plain.grad, atol=1e-6)
    assert plain.grad[3].abs().sum() == 0.0 < plain.grad[4].abs().sum()
    assert table.noted.tolist() == [1, 4, 4, 0, 4, 5, 1, 1]
    assert table.weight.grad is None


def test_the_step_is_row_wise_adagrad_and_clears_what_it_used() -> None:
    table = RowTable(on_cpu(batch_size=1, seq_len=3), rows=5, width=2)
    optimizer = RowAdagrad(table, lr=0.5)
    dense, squares = torch.zeros(5, 2), torch.zeros(5)
    for update in range(3):
        rows = torch.tensor([[update, 3, 3]], dtype=torch.int32)
        weight = torch.randn(1, 3, 2, generator=torch.Generator().manual_seed(update))
        (table(rows) * weight).sum().backward()
        gradient = torch.zeros(5, 2).index_add(0, rows[0].long(), weight[0])
        squares += gradient.square().mean(1)
        dense -= 0.5 * gradient * (squares + EPS).rsqrt().unsqueeze(1)
        optimizer.step()
        assert torch.allclose(table.weight, dense, atol=1e-6)
        assert not table.gradient.any()
    assert dense[4].abs().sum() == 0.0 < dense[3].abs().sum()
    optimizer.step()  # nothing was read since
    assert torch.allclose(table.weight, dense, atol=1e-6)


def test_the_kernels_read_and_add_what_torch_does() -> None:
    """fp32 on the Neuron device: the loss, the table's gradient and its rows after a step agree; a seed does not."""
    plain: dict[str, Any] = {"norm": "torch", "rotary": "torch", "mlp": "torch", "loss": "torch", "dtype": "float32"}
    sizes: dict[str, Any] = {"vocab_size": 64, "width": 32, "mlp_width": 32, "depth": 1, "batch_size": 2, "seq_len": 9}

    def measure(seed: int, **knobs: Any) -> list[Tensor]:
        config = small(**plain, **sizes, **PAIRS, **knobs)
        model = filled(config)
        optimizers, _ = make_optimizers(config, model, Ranks(0, torch.device("neuron")))
        x = tokens(2, 9, seed).to("neuron")
        loss = model(x, x.long())
        loss.backward()
        (table,) = row_tables(model)
        gradient = table.gradient.cpu().clone()
        optimizers[-1].step()
        return [loss.detach().cpu(), gradient, table.weight.detach().cpu()]

    expected, found, other = measure(0), measure(0, embedding="nki"), measure(1, embedding="nki")
    for e, f, o in zip(expected, found, other, strict=True):
        assert torch.allclose(f, e, atol=1e-5)
        assert not torch.allclose(o, e, atol=1e-5)


def test_the_table_is_saved_and_is_no_business_of_the_other_optimizers() -> None:
    config = on_cpu(**PAIRS)
    model = filled(config)
    (table,) = row_tables(model)
    optimizers, owned = make_optimizers(config, model, Ranks(0, torch.device("cpu")))
    held = [id(p) for o in optimizers for group in o.param_groups for p in group["params"]]
    assert sorted(held) == sorted(id(p) for p in model.parameters())
    assert [id(p) for group in optimizers[-1].param_groups for p in group["params"]] == [id(table.weight)]
    assert {id(p) for hand in owned for p in hand} == {id(p) for p in dense_parameters(model)}
    assert "embed.pair.weight" in model.state_dict()
    assert not {"embed.pair.gradient", "embed.pair.noted"} & model.state_dict().keys()
    assert model_config(config) != model_config(on_cpu(**(PAIRS | {"bigram_width": 9})))
