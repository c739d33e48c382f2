"""Modes: `.train()`, gradients and frozen parameters change nothing."""

from __future__ import annotations

from scorer.findings import define
from scorer.trusted.model import SubmissionError
from scorer.trusted.purity.bench import Bench
from scorer.trusted.purity.record import Test
from scorer.trusted.tolerance import Change

PUR014 = define(
    "PUR014",
    title="The model answers differently in training mode or with gradients enabled",
    why="What was trained is then not what is scored, and a scorer that forgets .eval() scores something else.",
    remedy="Remove dropout and every use of self.training and of torch's gradient mode from the submission's forward.",
)
MODES = Test("modes", PUR014)


def mode_independent(bench: Bench) -> None:
    """`.train()` changes no bit, before or during the pass, and gradients no more than another kernel would.

    What could have been told apart is shown by the other tests: other tokens give other logits.
    """
    model = bench.model
    branch = model.source.training_branch()
    modes: list[tuple[str, dict[str, bool], Change, int | None]] = [
        ("in training mode", {"train": True}, Change.NOTHING, branch),
        ("after train() and eval()", {"retrained": True}, Change.NOTHING, branch),
        ("with gradients enabled", {"grad": True}, Change.GRADIENTS, model.source.call("is_grad_enabled")),
        ("in training mode with gradients enabled", {"train": True, "grad": True}, Change.GRADIENTS, None),
        ("with gradients enabled and parameters frozen", {"frozen": True}, Change.GRADIENTS, None),
    ]
    for what, flags, change, branch in modes:
        try:
            logits = model.forward(bench.first, **flags)
        except SubmissionError as error:
            message = f"{what} {error.finding.message}"
            bench.failed(MODES, what, message, branch or error.finding.artifact_line, None)
            return
        difference = bench.compare(bench.logits, logits, change)
        if difference.exceeded:
            pairs = [(row, row) for row in range(bench.first.shape[0])]
            length = bench.first.shape[1]
            module, line = model.locate(bench.first, bench.first, pairs, length, bench.relative(change), **flags)
            where = f", first in {module}" if module else ""
            message = f"the logits are different {what}{where}"
            bench.failed(MODES, what, message, branch or line, difference, module=module)
            return
        bench.passed(MODES, what, difference)
