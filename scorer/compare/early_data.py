"""Training data that is used before the first update: work that depends on data, in time that nobody charges."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from scorer.compare.case import Case
from scorer.findings import Finding, Severity, define, finding
from scorer.room.receipts import FirstUse, Receipt

RUN036 = define(
    "RUN036",
    title="Training data is used before the first update",
    why="The start-up is free for what a program does whatever the data are: compiling, loading, allocating. Work that "
    "depends on the training data is training outside the budget, which reviewers refuse; and a host whose start-up "
    "is slower is charged for it.",
    remedy="Do it between updates, where it is charged, or on values that are not from the training data.",
    severity=Severity.ADVICE,
)


def compare(case: Case) -> list[Finding]:
    """At most one finding about the artifact's run: a rank drew more batches for its first update than for later ones,
    by more than a whole update's, which a program may hold ready.
    """
    run = case.artifact_lane
    return [] if run is None else [*_early(case, run)][:1]


def _early(case: Case, run: Receipt) -> Iterator[Finding]:
    for rank in run.ranks:
        drawn = [len(update.batch_hashes) for update in rank.updates if update.batch_hashes]
        if len(drawn) < 2:
            continue
        usual = statistics.median_low(drawn[1:])
        if drawn[0] <= 2 * usual:
            continue
        first: FirstUse | None = next((use for use in rank.first_uses if use.what == "batch"), None)
        yield finding(
            RUN036,
            f"{drawn[0]} batches are drawn for the first update, {usual} for each later one: "
            f"{drawn[0] - usual} are used before the clock starts",
            **case.at_site(run, None if first is None else first.site),
            lane=run.lane.value,
            rank=rank.rank,
            update=0,
            evidence={
                "batches of each update": drawn,
                "called from": [] if first is None else [f"{site.file}:{site.line}" for site in first.callers],
            },
        )
