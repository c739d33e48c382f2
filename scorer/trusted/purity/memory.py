"""Memory: the model process holds no more after many batches than after a few."""

from __future__ import annotations

from scorer.findings import define
from scorer.trusted.purity.bench import Bench
from scorer.trusted.purity.record import Record, Test
from scorer.trusted.tolerance import Difference

PUR024 = define(
    "PUR024",
    title="The model process holds more memory with every batch",
    why="A whole evaluation is thousands of batches: it ends for want of memory, or what is kept serves later batches.",
    remedy="Keep nothing of a batch after forward has returned: no lists of outputs, no caches, no autograd graphs.",
)
MEMORY = Test("bounded memory", PUR024)
BATCHES = 4
ROUNDS = 3


def bounded(bench: Bench) -> None:
    """The same batch a few times more: what one batch leaves behind, they leave as often.

    An allocator grows by leaps, and then no more; what a model keeps grows in every round.
    """
    host, allowed = bench.model.process.host, bench.settings.growth_bytes
    bench.model.forward(bench.first)
    for _ in range(ROUNDS):
        before = host.memory()
        for _ in range(BATCHES):
            bench.model.forward(bench.first)
        after = host.memory()
        if after - before <= allowed:
            break
    judge(bench.record, f"{BATCHES} batches more", before, after, allowed)


def judge(record: Record, trial: str, before: int, after: int, allowed: int) -> None:
    """Note how much a room's processes have grown; `before` of 0 says that it could not be measured."""
    if before == 0:
        record.not_run(MEMORY, trial, "this machine does not tell what a process holds")
        return
    grown = Difference(after - before, allowed, after - before > allowed, (), (), "bytes")
    if grown.exceeded:
        record.failed(MEMORY, trial, f"after {trial} the model process holds {after - before} bytes more", None, grown)
    else:
        record.passed(MEMORY, trial, grown)
