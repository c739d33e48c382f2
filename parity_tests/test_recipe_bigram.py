"""The hashed bigram embedding: its hash, and a table whose gradient and step are those of its rows that were read."""

from __future__ import annotations

from typing import Any

import prepare
import pytest
import torch
from torch import Tensor

from parity_tests.recipe_samples import on_cpu, small
from recipe import train as trainer
from recipe.average import RowAverage, WeightAverage
from recipe.bigram import BigramEmbedding, bigrams_of
from recipe.checkpoint import CHECKPOINT, load_model, model_config
from recipe.config import Config
from recipe.kernels.weight_average import TorchWeightAverage
from recipe.model import GPT, activation_dtype, make_model
from recipe.optim import make_optimizers
from recipe.ranks import Ranks
from recipe.row_table import (
    EPS,
    RowAdagrad,
    RowTable,
    clip_with_rows,
    dense_parameters,
    row_optimizer,
    row_tables,
)

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
        optimizer.collect()
        optimizer.step()
        assert torch.allclose(table.weight, dense, atol=1e-6)
        assert not table.gradient.any()
    assert dense[4].abs().sum() == 0.0 < dense[3].abs().sum()
    optimizer.collect()  # nothing was read since
    optimizer.step()
    assert torch.allclose(table.weight, dense, atol=1e-6)


@pytest.mark.parametrize("most", [0.5, 100.0])
def test_clipping_counts_each_row_once_and_scales_all_by_one_factor(most: float) -> None:
    """As torch clips the gradients of a whole table and of another parameter together. 100: nothing is too large."""
    table = RowTable(on_cpu(batch_size=1, seq_len=6), rows=5, width=2)
    pairs = RowAdagrad(table, lr=1.0)
    reads = torch.tensor([[3, 1, 3, 3, 1, 0]], dtype=torch.int32)
    weights = torch.randn(1, 6, 2, generator=torch.Generator().manual_seed(0))
    plain, other, same = (torch.nn.Parameter(torch.zeros(shape)) for shape in ((5, 2), (3,), (3,)))
    (table(reads) * weights).sum().backward()
    (plain[reads.long()] * weights).sum().backward()
    other.grad, same.grad = torch.tensor([1.0, -2.0, 0.5]), torch.tensor([1.0, -2.0, 0.5])
    pairs.collect()
    clip_with_rows(on_cpu(clip=most), [other], pairs)
    unclipped = plain.grad.clone() if plain.grad is not None else torch.zeros(0)
    torch.nn.utils.clip_grad_norm_([same, plain], most)
    assert plain.grad is not None
    assert torch.allclose(pairs.gradient, plain.grad[reads[0].long()], rtol=1e-5)
    assert torch.allclose(other.grad, same.grad, rtol=1e-5)
    assert torch.allclose(plain.grad, unclipped) == (most == 100.0)


@pytest.mark.parametrize("decay", [0.5, 0.99, 1.0])
def test_the_average_of_rows_that_move_seldom_is_that_of_all_rows_in_every_update(decay: float) -> None:
    """Row 0 never moves; what is averaged over the updates alone in which a row moves is something else."""
    generator = torch.Generator().manual_seed(0)
    table = torch.randn(6, 2, generator=generator)
    plain = torch.nn.Parameter(table.clone())
    lazy, dense = RowAverage(table, decay), WeightAverage([plain], decay, update=TorchWeightAverage())
    moves = [table.new_zeros(0, 2) for _ in range(6)]
    for update in range(40):
        rows = torch.randint(1, 6, (3,), generator=generator)
        rows = torch.cat([rows, rows[:1]])  # one of them twice
        lazy.before(rows)
        table[rows] = table[rows] + rows.unsqueeze(1) * (0.1 * update)
        lazy.after(rows)
        plain.data.copy_(table)
        dense.step()
        if update == 9:
            lazy.restart()
            dense.total = 0.0
            moves = [each[:0] for each in moves]
        for row in set(rows.tolist()):
            moves[row] = torch.cat([moves[row], table[row : row + 1]])
    lazy.finish()
    lazy.put_in_place()
    dense.put_in_place()
    assert torch.allclose(table, plain, rtol=1e-4, atol=1e-5)
    shares = [decay ** torch.arange(len(each) - 1, -1, -1) for each in moves[1:]]
    own = torch.stack([share @ each / share.sum() for share, each in zip(shares, moves[1:], strict=True)])
    assert not torch.allclose(own, plain[1:], rtol=1e-2)


@pytest.mark.usefixtures("one_rank")
def test_a_run_saves_the_average_of_the_table_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Updates 0 and 1 of 4 are before the average; of the others the last counts twice as much as the one before it."""
    config = on_cpu(
        vocab_size=2048, depth=1, num_steps=4, bigram_rows=97, bigram_width=8, clip=1.0, ema_decay=0.5, ema_prewarm=0.3
    )
    models: list[GPT] = []
    passed: list[dict[str, Tensor]] = []

    def make(config: Config, dtype: torch.dtype) -> GPT:
        models.append(make_model(config, dtype))
        return models[-1]

    def boundary(step: int) -> None:
        passed.append({name: parameter.detach().clone() for name, parameter in models[0].named_parameters()})

    monkeypatch.setattr(trainer, "make_model", make)
    monkeypatch.setattr(prepare, "record_step_boundary", boundary)
    trainer.train(config)
    saved = load_model(str(CHECKPOINT), "cpu", config)
    for name in ("embed.pair.weight", "head.weight"):
        found = saved.get_parameter(name)
        assert torch.allclose(found, (passed[2][name] + 2.0 * passed[3][name]) / 3.0, rtol=1e-4, atol=1e-6), name
        assert not torch.allclose(found, passed[3][name], rtol=1e-2, atol=1e-4), name


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
        pairs = row_optimizer(optimizers)
        pairs.collect()
        pairs.step()
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
