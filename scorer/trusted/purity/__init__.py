"""Purity: a model's logits may depend on the tokens before a position and on nothing else.

Each test has a control, something that must change the logits; where the control changes nothing the test proves
nothing, and says so (PUR019) instead of passing. Every trial is recorded, what was not run with the reason.

    state, batch, causality, length, modes, tensors, isolation, memory   in one model process
    surroundings                                                         in forks: names, directory, variables, dtypes
    scored                                                               what was scored, against a process of its own
"""

from __future__ import annotations

import torch

from scorer.contest import Purity
from scorer.trusted.model import Model
from scorer.trusted.purity.batch import NEIGHBOURS, POSITION, SIZE, batch_independent, scoring_size
from scorer.trusted.purity.bench import Bench
from scorer.trusted.purity.causality import CAUSALITY, causal
from scorer.trusted.purity.length import LENGTH, every_length
from scorer.trusted.purity.memory import MEMORY, bounded
from scorer.trusted.purity.modes import MODES, mode_independent
from scorer.trusted.purity.record import Record
from scorer.trusted.purity.state import STATE, stateless
from scorer.trusted.purity.tensors import tensors

__all__ = ["STATE", "Bench", "Record", "check"]


def check(model: Model, rows: torch.Tensor, scored: torch.Tensor, settings: Purity, record: Record) -> Bench:
    """Run every test in one process on real rows, int32 [2 B, T]; SubmissionError where the model cannot even answer.

    `scored` is a batch of the official size: a model may choose another path for larger batches than B.
    """
    half = rows.shape[0] // 2
    first, second = rows[:half], rows[half : 2 * half]
    before = model.state()
    bench = Bench(model, record, settings, first, second, model.forward(first))
    if stateless(bench, before):
        together = batch_independent(bench)
        looks_back = causal(bench, alone=not together)
        if not together or not looks_back:
            why = f"the model {'looks ahead' if together else 'mixes the rows of a batch'}"
            record.not_run(LENGTH, "all lengths", why)
        else:
            every_length(bench)
        mode_independent(bench)
        if together:
            scoring_size(bench, scored, before)
        else:
            record.not_run(SIZE, f"in a batch of {len(scored)}", "the model mixes the rows of a batch")
        bounded(bench)
    else:
        for test in (NEIGHBOURS, POSITION, SIZE, CAUSALITY, LENGTH, MODES, MEMORY):
            record.not_run(test, "all", "the model keeps state: no two passes can be compared")
    tensors(bench, {device: str(dtype) for device, dtype in settings.dtypes.items()})
    return bench
