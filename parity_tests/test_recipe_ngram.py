"""The n-gram model: contexts, counts and rows, and how it learns beside the network."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
import prepare
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from parity_tests.recipe_samples import on_cpu
from recipe.adamw import AdamW
from recipe.checkpoint import model_config
from recipe.config import Config
from recipe.model import NgramGPT, make_model
from recipe.ngram import CHECK_BITS, EMPTY, MULTIPLIERS, NO_CONTEXT, contexts_of, longest_known, orders_of
from recipe.ngram_counts import NOBODY, NgramCounts
from recipe.ngram_rows import DISCOUNT, STRENGTH, NgramRows
from recipe.ngram_training import NgramTraining, make_ngram_training
from recipe.ranks import Ranks
from recipe.train import train

ORDERS = (2, 3, 5)
ALONE = Ranks(0, torch.device("cpu"))


def text(rows: int, length: int, vocabulary: int = 12, seed: int = 0) -> Tensor:
    """Tokens of which each follows from the two before it, but for every fourth, which is random."""
    generator = torch.Generator().manual_seed(seed)
    tokens = torch.randint(0, vocabulary, (rows, length), generator=generator, dtype=torch.int32)
    for place in range(2, length):
        if place % 4:
            tokens[:, place] = (3 * tokens[:, place - 1] + tokens[:, place - 2]) % vocabulary
    return tokens


def counted(
    *updates: Tensor, world_size: int = 1, slots: int = 2**14, followers: int = 12, vocabulary: int = 32
) -> list[NgramCounts]:
    """The counts of every rank."""
    ranks = [NgramCounts(ORDERS, slots, followers, vocabulary, rank, world_size) for rank in range(world_size)]
    for counts in ranks:
        for rows in updates:
            counts.add(rows)
    return ranks


def made(ranks: list[NgramCounts], parts: int = 3, rounds: int = 1) -> NgramRows:
    """The rows that all ranks have after their parts are made and exchanged."""
    tables = [NgramRows(counts, parts) for counts in ranks]
    for part in [*range(parts)] * rounds:
        packed = np.stack([table.packed(part) for table in tables], 1)
        for table in tables:
            table.put(part, packed.reshape(-1, packed.shape[-1]))
    return tables[-1]


def test_a_context_is_made_of_the_last_tokens_alone() -> None:
    tokens = torch.randint(0, 64, (2, 20), generator=torch.Generator().manual_seed(0))
    found = list(contexts_of(tokens, ORDERS, 1024))
    changed = tokens.clone()
    changed[0, 9] = (changed[0, 9] + 1) % 64
    for order, (slot, check), (other_slot, other_check), (late_slot, late_check) in zip(
        ORDERS, found, contexts_of(changed, ORDERS, 1024), contexts_of(tokens[:, 4:], ORDERS, 1024), strict=True
    ):
        assert 0 <= int(slot.min()) <= int(slot.max()) < 1024
        differs = ((slot != other_slot) | (check != other_check)).nonzero().tolist()
        assert differs == [[0, place] for place in range(9, 9 + order - 1)]
        assert (check[:, : order - 2] == NO_CONTEXT).all()
        assert check[:, order - 2 :].min() >= 0
        assert torch.equal(late_check[:, order - 2 :], check[:, order + 2 :])
        assert torch.equal(late_slot[:, order - 2 :], slot[:, order + 2 :])


def test_contexts_differ_and_fit_into_32_bits() -> None:
    largest = 2**16 - 1
    assert max(MULTIPLIERS) * largest + 2**15 + largest + 1 < 2**31
    tokens = torch.cat((torch.randint(0, largest, (50, 40)), torch.full((1, 40), largest)))
    *_, (slot, check) = contexts_of(tokens, (2, 16), 2**19)
    seen = {(int(a), int(b)) for a, b in zip(slot[:50, 14:].flatten(), check[:50, 14:].flatten(), strict=True)}
    assert len(seen) == 50 * 26
    assert check.max() < 2**CHECK_BITS  # a whole number in fp32, too
    *_, (wide_slot, wide_check) = contexts_of(tokens.long(), (2, 16), 2**19)
    assert torch.equal(wide_slot, slot)
    assert torch.equal(wide_check, check)


def test_counts_are_those_of_a_dictionary() -> None:
    updates = [text(3, 40, seed=seed) for seed in range(3)]
    (counts,) = counted(*updates)
    behind: dict[tuple[int, int], Counter[int]] = defaultdict(Counter)
    for rows in updates:
        for place, (slot, check) in enumerate(contexts_of(rows[:, :-1], ORDERS, counts.slots)):
            known = (check != NO_CONTEXT).flatten()
            where = zip((slot.flatten() + place * counts.slots)[known], check.flatten()[known], strict=True)
            for (row, mark), follower in zip(where, rows[:, 1:].flatten()[known], strict=True):
                behind[int(row), int(mark)][int(follower)] += 1
    wanted = Counter(row for row, _ in behind)
    assert (counts.check != EMPTY).sum() == len(wanted)
    for (row, mark), followers in behind.items():
        if wanted[row] > 1:
            continue  # two contexts, one slot
        assert counts.check[row] == mark
        assert counts.total[row] == followers.total()
        kept = zip(counts.follower[row].tolist(), counts.count[row].tolist(), strict=True)
        assert {follower: count for follower, count in kept if follower != NOBODY} == followers
    assert wanted.total() - len(wanted) < 0.02 * len(wanted)
    assert counts.alone.sum() == 3 * 3 * 39


def test_what_is_frequent_stays_where_room_is_short() -> None:
    often, seldom = torch.tensor([[5, 1]] * 6), torch.tensor([[5, token] for token in range(2, 9)])
    (counts,) = counted(often, seldom, followers=2)
    row = next(iter(contexts_of(torch.tensor([[5]]), ORDERS, counts.slots)))[0].item()
    assert dict(zip(counts.follower[row], counts.count[row], strict=True)).get(1) == 6
    assert counts.total[row] == 13
    (held,) = counted(often.int(), text(2, 30), text(2, 30, seed=1), slots=1)
    assert held.strength.min() >= 0
    assert held.check[0] != EMPTY
    taken = [counted(torch.tensor([[5, 1]] * 3), torch.tensor([[7, 2]] * times), slots=1)[0] for times in (3, 4)]
    assert [counts.follower[0, 0] for counts in taken] == [1, 2]
    assert taken[1].total[0] == taken[1].strength[0] == 4


def test_any_number_of_ranks_makes_the_same_table() -> None:
    updates = [text(4, 40, seed=seed) for seed in range(4)]
    small = {"slots": 2**6, "followers": 4}  # with collisions and contexts that lose their slots
    alone = made(counted(*updates, **small), parts=2, rounds=2)
    for world_size in (2, 4):
        ranks = counted(*(rows[torch.randperm(4)] for rows in updates), world_size=world_size, **small)
        table = made(ranks, parts=2, rounds=2)
        for name in ("check", "rest", "follower", "probability"):
            assert np.array_equal(getattr(table, name), getattr(alone, name)), name
    other = made(counted(*updates[:3], **small), parts=2, rounds=2)
    assert not np.array_equal(other.probability, alone.probability)


def test_rows_say_what_the_orders_predict() -> None:
    """Followers with their probabilities and the shares of all other tokens: the interpolated distribution itself."""
    updates = [text(6, 40, seed=seed) for seed in range(6)]
    (counts,) = counted(*updates)
    rows = made([counts])
    share = (counts.alone + 1) / (counts.alone + 1).sum()
    compared = Counter[int]()
    predicted: dict[int, Any] = {-1: share}
    for row in np.flatnonzero(rows.check != EMPTY):
        count = np.zeros(32)
        count[counts.follower[row][counts.follower[row] != NOBODY]] = counts.count[row][counts.follower[row] != NOBODY]
        left = np.maximum(count - DISCOUNT, 0)
        prior = STRENGTH + DISCOUNT * (count > 0).sum()
        below = counts.below[row] if rows.check[counts.below[row]] != EMPTY else -1
        predicted[row] = (left + prior * predicted[below]) / (left.sum() + prior)
        assert predicted[row].sum() == pytest.approx(1.0)
        said = share * rows.rest[row]
        said[rows.follower[row]] = rows.probability[row]
        assert said == pytest.approx(predicted[row], rel=1e-4)
        compared[row // counts.slots] += 1
        assert len(set(rows.follower[row])) == rows.follower.shape[1]
    assert min(compared.values()) > 8
    assert sorted(compared) == [0, 1, 2]


def test_the_longest_known_context_is_chosen() -> None:
    tokens = text(1, 30)
    table = torch.from_numpy(made(counted(tokens, tokens)).check)
    row, level = longest_known(tokens[:, :-1], table, ORDERS)
    assert level.tolist() == [[0, 1, 1, *[2] * 26]]
    assert (table[row.long()] != EMPTY).all()
    changed = tokens[:, :-1].clone()
    changed[0, 20] = 20
    _, other = longest_known(changed, table, ORDERS)
    assert other.tolist() == [[0, 1, 1, *[2] * 17, -1, 0, 1, 1, *[2] * 5]]
    assert (longest_known(tokens + 100, table, ORDERS)[1] == -1).all()


def small(**knobs: Any) -> Config:
    return on_cpu(
        **({"ngram": "torch", "ngram_orders": "2,3,5", "ngram_slots": 1024, "ngram_refresh": 1, "depth": 1} | knobs)
    )


def taught(config: Config, *updates: Tensor, epochs: Sequence[int] = ()) -> tuple[NgramGPT, NgramTraining]:
    """A new model whose n-grams have seen some updates, all of the first epoch unless said."""
    torch.manual_seed(0)
    model = make_model(config, torch.float32)
    model.initialize()
    assert isinstance(model, NgramGPT)
    ngrams = make_ngram_training(config, ALONE, model)
    passing = ngrams.watching(
        iter(
            [
                (rows[:, :-1], rows[:, 1:].long(), {"epoch": epoch})
                for rows, epoch in zip(updates, epochs or [1] * len(updates), strict=True)
            ]
        )
    )
    for rows in updates:
        assert torch.equal(next(passing)[0], rows[:, :-1])
        ngrams.learn()
    return model, ngrams


def test_a_batch_is_counted_when_it_was_learned_from_and_once() -> None:
    rows = text(4, 30)
    model, ngrams = taught(small())
    passing = ngrams.watching(iter([(rows[:, :-1], rows[:, 1:].long(), {"epoch": 1})]))
    next(passing)
    assert not ngrams.counts.alone.any()
    assert (model.mix.check == EMPTY).all()
    ngrams.learn()
    assert ngrams.counts.alone.sum() == 4 * 29
    assert (model.mix.check != EMPTY).any()
    sampled = taught(small(ngram_sample=2), rows, rows)[1].counts
    assert np.array_equal(sampled.alone, ngrams.counts.alone)  # every other row, then the others


def test_text_that_is_met_again_is_not_counted_again_and_the_weights_stay() -> None:
    once = torch.arange(30).view(1, 30).int()
    model, ngrams = taught(small(), once, once, epochs=(1, 2))
    assert ngrams.counts.alone.max() == 1
    model, ngrams = taught(small(), once)
    for epoch, expected in ((1, 1.0), (2, 1.0), (2, 1.0)):
        next(ngrams.watching(iter([(once[:, :-1], once[:, 1:].long(), {"epoch": epoch})])))
        with torch.no_grad():
            model.mix.weight += 1.0  # what an optimizer may make of them
        ngrams.learn()
        assert model.mix.weight.tolist() == [expected] * 3


def test_the_table_is_made_once_more_from_the_lowest_order_up_and_then_stays() -> None:
    first, later = [text(4, 40, seed=seed) for seed in range(5)], [text(4, 40, seed=seed) for seed in range(3)]
    parts = 6  # two for each order: what a part needs of a lower order is in an earlier one
    config = small(ngram_refresh=parts)

    def tables(updates: list[Tensor], epochs: list[int]) -> tuple[NgramGPT, NgramTraining]:
        return taught(config, *updates, epochs=epochs)

    model, ngrams = tables([*first, *later, *later], [1] * 5 + [2] * 6)
    assert ngrams.left == 0
    at_once = NgramRows(ngrams.counts, parts=len(ORDERS))
    at_once.all_anew()
    for part in range(at_once.parts):
        at_once.put(part, at_once.packed(part))
    assert np.array_equal(model.mix.check.numpy(), at_once.check)
    assert np.array_equal(model.mix.follower.numpy(), at_once.follower)
    assert torch.equal(model.mix.probability, torch.from_numpy(at_once.probability).bfloat16())
    halfway, unfinished = tables([*first, *later], [1] * 5 + [2] * 3)
    assert unfinished.left == parts - 3
    assert not torch.equal(halfway.mix.probability, model.mix.probability)

    gathered: list[Tensor] = []
    ngrams.ranks.of_all = gathered.append  # type: ignore[assignment, method-assign]
    passing = ngrams.watching(iter([(rows[:, :-1], rows[:, 1:].long(), {"epoch": 3}) for rows in first]))
    assert torch.equal(next(passing)[0], first[0][:, :-1])
    ngrams.learn()
    assert not gathered
    assert not ngrams.seen


@pytest.mark.parametrize("cap", [0.0, 15.0])
@pytest.mark.parametrize("loss", ["torch", "chunked"])
def test_the_network_learns_as_if_it_were_alone_and_the_weights_from_the_loss_of_the_scores(
    loss: str, cap: float
) -> None:
    rows, config = text(3, 40, seed=5), small(loss=loss, logit_softcap=cap)
    inputs, targets = rows[:, :-1], rows[:, 1:].long()
    model, _ = taught(config, *(text(4, 60, seed=seed) for seed in range(4)))
    with torch.no_grad():
        model.mix.weight.copy_(torch.tensor([0.5, 0.7, 0.9]))
        model.head.weight.normal_(generator=torch.Generator().manual_seed(1))
    value = model(inputs, targets)
    value.backward()
    alone = make_model(on_cpu(depth=1, loss=loss, logit_softcap=cap), torch.float32)
    alone.load_state_dict({name: value for name, value in model.state_dict().items() if not name.startswith("mix.")})
    plain = alone(inputs, targets)
    plain.backward()
    assert plain.item() == value.item()
    for name, parameter in alone.named_parameters():
        found = model.get_parameter(name).grad
        assert found is parameter.grad is None or torch.equal(found, parameter.grad), name

    def mixed(distance: float) -> float:
        with torch.no_grad():
            model.mix.weight.add_(distance)
            return float(F.cross_entropy(model(inputs).double().flatten(0, 1), targets.flatten()))

    assert abs(mixed(0.0) - plain.item()) > 1e-2
    assert model.mix.weight.grad is not None
    slope = (mixed(0.05) - mixed(-0.1)) / 0.1
    assert model.mix.weight.grad.sum().item() == pytest.approx(slope, rel=1e-2)


def test_what_was_counted_helps_on_other_text() -> None:
    updates, held_out = [text(4, 60, seed=seed) for seed in range(8)], text(4, 60, seed=99)
    taught_model, new = taught(small(), *updates)[0], taught(small())[0]
    with torch.no_grad():
        taught_model.mix.weight.fill_(1.0)

    def loss(model: NgramGPT) -> float:
        return F.cross_entropy(model(held_out[:, :-1]).flatten(0, 1), held_out[:, 1:].flatten().long()).item()

    assert loss(taught_model) < 0.6 * loss(new)
    with torch.no_grad():
        taught_model.mix.weight.fill_(-200.0)
    assert loss(taught_model) == loss(new)


def test_the_table_moves_the_logits_of_the_past_alone_and_comes_with_the_checkpoint() -> None:
    config = small()
    model, _ = taught(config, *(text(4, 60, seed=seed) for seed in range(4)))
    tokens = text(2, 40, seed=7)
    with torch.no_grad():
        model.mix.weight.copy_(torch.tensor([0.5, 0.7, 0.9]))
    found = model(tokens)
    alone = make_model(on_cpu(depth=1), torch.float32)
    alone.load_state_dict({name: value for name, value in model.state_dict().items() if not name.startswith("mix.")})
    assert not torch.allclose(found, alone(tokens), atol=1e-2)
    changed = tokens.clone()
    changed[:, 25:] = (changed[:, 25:] + 1) % 12
    assert torch.equal(model(changed)[:, :25], found[:, :25])
    assert not torch.equal(model(changed)[:, 25:], found[:, 25:])
    assert torch.allclose(model(tokens[:1, :9])[0], found[0, :9], atol=1e-5)
    assert {"mix.check", "mix.follower", "mix.probability", "mix.weight"} <= model.state_dict().keys()
    again = make_model(config, torch.float32)
    again.load_state_dict(model.state_dict())
    assert torch.equal(again(tokens), found)
    assert model_config(config) != model_config(small(ngram_orders="2,3,6"))
    assert model_config(config).keys() > model_config(on_cpu()).keys()


@pytest.mark.usefixtures("one_rank")
def test_weights_are_learned_before_the_batch_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    happened: list[str] = []

    def told(name: str, owner: type, method: str) -> None:
        original = getattr(owner, method)

        def call(*args: Any, **named: Any) -> Any:
            happened.append(name)
            return original(*args, **named)

        monkeypatch.setattr(owner, method, call)

    told("predict", NgramGPT, "forward")
    told("learn", AdamW, "step")
    told("count", NgramCounts, "add")
    boundary = prepare.record_step_boundary
    monkeypatch.setattr(prepare, "record_step_boundary", lambda step: (happened.append("end"), boundary(step))[1])
    model = train(small(vocab_size=2048, num_steps=2, micro_batches=2, batch_size=2, seq_len=32, ngram_slots=4096))
    assert happened == ["predict", "predict", "learn", "count", "end"] * 2
    assert isinstance(model, NgramGPT)
    assert (model.mix.check != EMPTY).sum() > 20
    assert (model.mix.weight != 0.0).any()


@pytest.mark.parametrize(
    ("knobs", "message"),
    [
        ({"ngram_orders": "3,2"}, "'ngram_orders' must be ascending numbers in 2 to 16 between commas, found '3,2'"),
        ({"ngram_orders": "2,17"}, "'ngram_orders' must be ascending"),
        ({"ngram_orders": "1,2"}, "'ngram_orders' must be ascending"),
        ({"ngram_orders": "2,x"}, "'ngram_orders' must be ascending"),
        ({"ngram_slots": 1000}, "'ngram_slots' must be a power of two, 2.19 at most, found 1000"),
        ({"ngram_refresh": 7}, "'ngram_slots' and 'ngram_refresh' must cut 3 orders of 1024 slots into equal parts"),
        ({"ngram_followers": 33}, "'ngram_followers' must be half of 'vocab_size' at most"),
        ({"ngram_sample": 5}, "'ngram_sample' must be 'batch_size' at most, found 5"),
    ],
)
def test_knobs_that_no_table_can_have_are_refused(knobs: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        small(**knobs)
    assert orders_of(small().ngram_orders) == ORDERS
