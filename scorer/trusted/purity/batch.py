"""Independence of the batch: a row alone, in other batch sizes, among other neighbours, elsewhere: the same logits."""

from __future__ import annotations

import torch

from scorer.findings import define
from scorer.trusted.purity.bench import Bench
from scorer.trusted.purity.record import Test
from scorer.trusted.purity.state import State, keeps_state
from scorer.trusted.tolerance import Change, Difference

PUR012 = define(
    "PUR012",
    title="The logits of a row depend on the batch it is in",
    why="Batch size and neighbours differ between local and official scoring, so the score would too.",
    remedy="Reduce over features or time only, never over the batch axis; choose no path by batch size.",
)
NEIGHBOURS = Test("batch neighbours", PUR012)
POSITION = Test("row position", PUR012)
SIZE = Test("batch size", PUR012)


def batch_independent(bench: Bench) -> bool:
    """Run the trials on the small batch; False once one has failed."""
    count = bench.first.shape[0]
    last = count - 1
    mixed = torch.cat((bench.first[:1], bench.second[1:]))
    shuffled = [(3 * row + 1) % count if count % 3 else last - row for row in range(count)]
    logits = bench.model.forward(mixed)
    if not _same(bench, NEIGHBOURS, "among other neighbours", mixed, logits, [(0, 0)], Change.CONTENT):
        return False
    if torch.equal(bench.logits[1:], logits[1:]):
        bench.record.void(NEIGHBOURS, "among other neighbours", "other neighbours have the same logits")
    for what, order in (("at another position", list(range(last, -1, -1))), ("in a shuffled batch", shuffled)):
        pairs = [(row, place) for place, row in enumerate(order)]
        tokens = bench.first[order]
        if not _same(bench, POSITION, what, tokens, bench.model.forward(tokens), pairs, Change.SHAPE):
            return False
    for size in bench.settings.batch_sizes:
        what = "alone" if size == 1 else f"in a batch of {size}"
        if size > count:
            bench.record.not_run(SIZE, what, f"the tests have {count} rows")
            continue
        rows = range(count - size, count) if size == 1 else range(size)
        tokens = bench.first[list(rows)]
        pairs = [(row, place) for place, row in enumerate(rows)]
        if not _same(bench, SIZE, what, tokens, bench.model.forward(tokens), pairs, Change.SHAPE):
            return False
    return True


def scoring_size(bench: Bench, scored: torch.Tensor, before: State) -> None:
    """A batch of the official size: its first and last row give the same logits alone, and the batch the same twice."""
    model, count = bench.model, scored.shape[0]
    ends = sorted({0, count - 1})
    when = f" in a batch of {count}"
    logits = model.forward(scored)
    alone = torch.cat([model.forward(scored[row : row + 1]) for row in ends])
    again = bench.compare(logits, model.forward(scored), Change.NOTHING)
    if keeps_state(bench, before, [(f"the same batch of {count} twice", again)], when):
        bench.record.not_run(SIZE, when.strip(), "the model keeps state")
        return
    difference = bench.compare(alone, logits[ends], Change.SHAPE)
    if difference.exceeded:
        row = ends[difference.position[0]]
        one = scored[row : row + 1]
        module, line = model.locate(one, scored, [(0, row)], scored.shape[1], bench.relative(Change.SHAPE))
        where = f", first in {module}" if module else ""
        message = f"a row's logits are different{when} than alone{where}"
        bench.failed(SIZE, when.strip(), message, line, difference, module=module)
    elif count > 1 and torch.equal(logits[0], logits[-1]):
        bench.record.void(SIZE, when.strip(), "different rows have the same logits")
    else:
        bench.passed(SIZE, when.strip(), difference)


def _same(
    bench: Bench,
    test: Test,
    what: str,
    tokens: torch.Tensor,
    logits: torch.Tensor,
    pairs: list[tuple[int, int]],
    change: Change,
) -> bool:
    """Compare rows of the first batch with rows of this one, as `pairs` say; note the trial."""
    left, right = ([pair[side] for pair in pairs] for side in (0, 1))
    difference: Difference = bench.compare(bench.logits[left], logits[right], change)
    if not difference.exceeded:
        bench.passed(test, what, difference)
        return True
    module, line = bench.model.locate(bench.first, tokens, pairs, bench.first.shape[1], bench.relative(change))
    where = f", first in {module}" if module else ""
    bench.failed(test, what, f"a row's logits are different {what}{where}", line, difference, module=module)
    return False
