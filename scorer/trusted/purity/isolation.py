"""No hooks, no modes, no collectives, no training: nothing happens beside the forward."""

from __future__ import annotations

from scorer.findings import define
from scorer.trusted.purity.record import Record, Test
from scorer.trusted.replies import Conduct
from scorer.trusted.sources import Source

PUR022 = define(
    "PUR022",
    title="Hooks or modes stand between the model and its caller",
    why="What runs is then not what the forward says: a hook may replace inputs, outputs or whole operations.",
    remedy="Write what the hook does into the forward; remove hooks, function modes and autocast before returning.",
)
PUR023 = define(
    "PUR023",
    title="The model calls torch.distributed",
    why="It is scored on one device, alone: a collective waits for ranks that do not exist, or mixes their batches.",
    remedy="Consolidate the weights before saving; no process group and no collective while loading or in forward.",
)
PUR029 = define(
    "PUR029",
    title="The model is trained while it is loaded or scored",
    why="What is scored is then not the checkpoint; a gradient step on what is being scored beats any model.",
    remedy="Do all training before saving; no backward, no gradients and no optimizer while loading or in forward.",
)
HOOKS = Test("no hooks", PUR022)
COLLECTIVES = Test("no collectives", PUR023)
TRAINING = Test("no training", PUR029)

MAKERS = (
    "register_forward_hook", "register_forward_pre_hook", "register_full_backward_hook", "register_hook",
    "register_module_forward_hook", "register_module_forward_pre_hook", "register_module_full_backward_hook",
)  # fmt: skip
"""Functions of torch that leave a hook."""


def isolated(record: Record, source: Source, told: Conduct, when: str) -> None:
    """Judge what a model process says of itself. The control is that a clean one says nothing, and is asked."""
    if told.hooks:
        line = next((at for name in MAKERS if (at := source.call(name)) is not None), None)
        record.failed(HOOKS, when, f"{when} the model has hooks or modes: {'; '.join(told.hooks[:5])}", line)
    else:
        record.passed(HOOKS, when)
    if told.collectives:
        name, line = told.collectives[0]
        message = f"{when} the submission calls torch.distributed.{name}, {len(told.collectives)} calls in all"
        record.failed(COLLECTIVES, when, message, line, calls=[list(call) for call in told.collectives[:10]])
    else:
        record.passed(COLLECTIVES, when)
    if told.training:
        name, line = told.training[0]
        message = f"{when} the submission calls {name}, {len(told.training)} such calls in all"
        record.failed(TRAINING, when, message, line, calls=[list(call) for call in told.training[:10]])
    else:
        record.passed(TRAINING, when)
