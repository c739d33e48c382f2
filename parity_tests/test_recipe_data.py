"""Rows drawn from a pool: each once, in another order, by the seed, though the loader writes into its buffers again."""

from __future__ import annotations

import itertools

import torch

from parity_tests.recipe_samples import on_cpu
from recipe.config import Config
from recipe.data import Batches, shuffled

ROWS, LENGTH, COUNT = 2, 4, 40


def in_order() -> Batches:
    """What the kit's loader does: the same two tensors each time, with other rows in them."""
    inputs, targets = torch.empty(ROWS, LENGTH, dtype=torch.int32), torch.empty(ROWS, LENGTH, dtype=torch.int64)
    for number in itertools.count():
        first = torch.arange(number * ROWS, (number + 1) * ROWS).view(ROWS, 1)
        inputs.copy_(first.expand(ROWS, LENGTH))
        targets.copy_(first.expand(ROWS, LENGTH) + 1)
        yield inputs, targets, {"epoch": number}


def drawn(config: Config, count: int = COUNT) -> tuple[list[int], list[int]]:
    """The rows of so many batches, by their numbers; and for each batch, how many the loader had given."""
    rows, given = [], []
    for inputs, targets, state in itertools.islice(shuffled(config, in_order(), torch.device("cpu")), count):
        assert torch.equal(inputs + 1, targets)
        assert (inputs.dtype, targets.dtype, inputs.shape) == (torch.int32, torch.int64, (ROWS, LENGTH))
        rows += inputs[:, 0].tolist()
        given.append(state["epoch"] + 1)
    return rows, given


def test_every_row_is_drawn_once_and_not_in_the_loaders_order() -> None:
    rows, _ = drawn(on_cpu(batch_size=ROWS, row_pool=8))
    assert len(set(rows)) == len(rows)
    assert set(range(COUNT * ROWS - 20)) <= set(rows)  # a row stays in the pool for a while, not for good
    assert rows != sorted(rows)
    assert max(abs(row - place) for place, row in enumerate(rows)) > 2 * ROWS  # it leaves its batch


def test_the_pool_grows_by_a_batch_with_each_draw_up_to_its_size() -> None:
    _, given = drawn(on_cpu(batch_size=ROWS, row_pool=6), 6)
    assert given == [2, 4, 6, 7, 8, 9]  # two for one, until three batches stay behind


def test_the_seed_decides_the_order() -> None:
    first, again, other = (drawn(on_cpu(batch_size=ROWS, row_pool=8, seed=seed))[0] for seed in (1, 1, 2))
    assert first == again != other
