"""Statelessness: the same batch again, after another one, in other storage, in another order: the same bits."""

from __future__ import annotations

import torch

from scorer.findings import define
from scorer.trusted.purity.bench import Bench
from scorer.trusted.purity.record import Test
from scorer.trusted.tolerance import Change, Difference

PUR011 = define(
    "PUR011",
    title="The model keeps state between calls",
    why="The score then depends on what was evaluated before: a second pass over the same shard scores differently.",
    remedy="Update nothing in forward; statistics that training keeps must be frozen by the hook that loads.",
)
STATE = Test("statelessness", PUR011)
REPEATED, INTERLEAVED, FRESH, KEPT = (
    "the same batch twice",
    "the same batch after another one, of another size in between",
    "the same batch in new storage",
    "parameters and buffers as before",
)

State = dict[str, tuple[str, str]]


def stateless(bench: Bench, before: State) -> bool:
    """Run the trials; False where no two passes can be compared any more."""
    model = bench.model
    again = bench.compare(bench.logits, model.forward(bench.first), Change.NOTHING)
    other = model.forward(bench.second)
    fresh = bench.compare(other, model.forward(bench.second, fresh=True), Change.NOTHING)
    model.forward(bench.second[:1])
    last = bench.compare(bench.logits, model.forward(bench.first), Change.NOTHING)
    trials = [(REPEATED, again), (FRESH, fresh), (INTERLEAVED, last)]
    if torch.equal(other, bench.logits) and not any(difference.exceeded for _, difference in trials):
        bench.record.void(STATE, ", ".join(trial for trial, _ in trials), "another batch gives the same logits")
        trials = []
    return not keeps_state(bench, before, trials)


def keeps_state(bench: Bench, before: State, trials: list[tuple[str, Difference]], when: str = "") -> bool:
    """Whether passes that should be equal differ, which is what this returns, or anything kept is not as `before`."""
    model = bench.model
    after = model.state()
    changed = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
    kept = [name for name in changed if (after.get(name) or before[name])[0] in ("parameter", "buffer")]
    culprits = kept or changed
    line = next((line for name in culprits if (line := model.source.kept(name)) is not None), None)
    different = next(((trial, difference) for trial, difference in trials if difference.exceeded), None)
    for trial, difference in trials:
        if not difference.exceeded:
            bench.passed(STATE, trial, difference)
    what = f"forward changes {_names(culprits)}" if culprits else "forward depends on earlier calls"
    if different is not None:
        trial, difference = different
        message = f"{what}{when}; the same batch gives other logits"
        bench.failed(STATE, trial, message, line, difference, changed=culprits[:10])
    elif kept:
        bench.failed(STATE, f"{KEPT}{when}", f"{what}{when}", line, None, changed=culprits[:10])
    else:
        bench.passed(STATE, f"{KEPT}{when}")
    return different is not None


def _names(names: list[str]) -> str:
    shown = ", ".join(names[:3])
    return f"{shown} and {len(names) - 3} more" if len(names) > 3 else shown
