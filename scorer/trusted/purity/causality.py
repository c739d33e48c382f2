"""Causality: a row's tokens replaced from a position on; the logits before it stay, those after it move.

The positions are those at which implementations differ: the first ones, the last ones, both sides of every power of two
(blocks of attention, tiles of kernels, taps of convolutions), and others spread evenly between. Every second row has
the one token replaced and the rest kept, so that nothing can cancel out.
"""

from __future__ import annotations

import torch

from scorer.findings import define
from scorer.trusted.purity.bench import Bench, other_tokens
from scorer.trusted.purity.record import Test
from scorer.trusted.tolerance import Change, Difference

PUR010 = define(
    "PUR010",
    title="The model looks ahead",
    why="A position whose logits depend on later tokens sees the target that it is scored on.",
    remedy="Mask attention causally; pad convolutions on the left only; normalise over features, never over time.",
)
CAUSALITY = Test("causality", PUR010)


def positions(length: int, at_least: int) -> list[int]:
    """Positions from 1 to `length` - 1 to cut rows at, `at_least` many where there are as many."""
    wanted = {1, 2, 3, length - 1, length - 2}
    power = 4
    while power <= length:
        wanted |= {power - 1, power, power + 1}
        power *= 2
    wanted = {cut for cut in wanted if 1 <= cut < length}
    others = [cut for cut in range(1, length) if cut not in wanted]
    missing = min(len(others), max(at_least, -(-len(wanted) // at_least) * at_least) - len(wanted))
    wanted |= {others[(2 * index + 1) * len(others) // (2 * missing)] for index in range(missing)}
    return sorted(wanted)


def causal(bench: Bench, alone: bool, most_batches: int | None = None, where: str = "") -> bool:
    """Run the trials, of all positions or of the first batches of them; False once one has failed.

    `alone` tries rows one by one, for a model whose rows depend on their neighbours; `where` is said in messages.
    """
    count, length = bench.first.shape
    cuts = positions(length, count)
    batches = [cuts[start :: -(-len(cuts) // count)] for start in range(-(-len(cuts) // count))][:most_batches]
    for number, some in enumerate(batches):
        rows = list(range(len(some)))
        changed = bench.first[rows].clone()
        for row, cut in zip(rows, some, strict=True):
            end = cut + 1 if (row + number) % 2 else length
            changed[row, cut:end] = other_tokens(bench.first[row, cut:end], bench.second[row, cut:end])
        for one in (
            [slice(row, row + 1) for row in sorted({0, len(rows) // 2, len(rows) - 1})] if alone else [slice(None)]
        ):
            whole = not alone and len(rows) == count
            expected = bench.logits if whole else bench.model.forward(bench.first[rows][one])
            if not looks_back(bench, bench.first[rows][one], changed[one], some[one], expected, where):
                return False
        if alone:
            break
    return True


def looks_back(
    bench: Bench, before: torch.Tensor, after: torch.Tensor, cuts: list[int], expected: torch.Tensor, where: str = ""
) -> bool:
    """One trial: row i of `after` is row i of `before`, whose logits are `expected`, up to position cuts[i]."""
    model = bench.model
    logits = model.forward(after)
    trial = f"tokens replaced from position {', '.join(map(str, cuts))}{where}"
    worst: Difference | None = None
    for row, cut in enumerate(cuts):
        difference = bench.compare(expected[row, :cut], logits[row, :cut], Change.CONTENT)
        if difference.exceeded:
            module, line = model.locate(before, after, [(row, row)], cut, bench.relative(Change.CONTENT))
            first = f" first in {module}" if module else ""
            position = difference.position[0]
            message = f"logits at position {position} change{first} when tokens from position {cut} on do{where}"
            bench.failed(CAUSALITY, trial, message, line, difference, row=row, cut=cut, module=module)
            return False
        if worst is None or difference.largest > worst.largest:
            worst = difference
    if any(torch.equal(expected[row, cut:], logits[row, cut:]) for row, cut in enumerate(cuts)):
        bench.record.void(CAUSALITY, trial, "replacing a row's last tokens changes none of its logits")
    else:
        bench.passed(CAUSALITY, trial, worst)
    return True
