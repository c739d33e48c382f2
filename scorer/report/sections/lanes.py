"""What each lane did and measured: the numbers first, the three columns, and what a lane that failed said."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, replace

from scorer.compare import Comparison, Row
from scorer.report.sections import LANES
from scorer.report.words import plain
from scorer.room.receipts import Lane, Outcome, Receipt
from scorer.trusted.settings import (
    EVAL_PUBLIC,
    KIT_EVALUATION,
    LOCAL_SETTINGS,
    OFFICIAL_SETTINGS,
    PUBLIC_SETTINGS,
    RECIPE_CHECKPOINT,
    recipe_evaluations,
)

_LOG_LINES = 15


@dataclass(frozen=True)
class TroubleView:
    """A lane that did not end well: what went wrong, and the last lines that it printed."""

    lane: str
    outcome: str
    problem: str
    log: tuple[str, ...]


def headline(receipts: Mapping[Lane, Receipt]) -> tuple[tuple[str, str, str], ...]:
    """The numbers that a reader looks for first: each measurement, with the settings that make it a number."""
    measured = [evaluation for lane in LANES if lane in receipts for evaluation in receipts[lane].evaluations]
    if Lane.LOCAL in receipts:
        with contextlib.suppress(ValueError):  # an incomplete block is a finding of the trusted lane
            measured += recipe_evaluations(receipts[Lane.LOCAL])
    headline = []
    by_kit = [evaluation.name for evaluation in measured if evaluation.name.startswith(KIT_EVALUATION)]
    for name in (RECIPE_CHECKPOINT, LOCAL_SETTINGS, PUBLIC_SETTINGS, *by_kit, EVAL_PUBLIC, OFFICIAL_SETTINGS):
        for evaluation in measured:
            if evaluation.name == name:
                note = (
                    f"{evaluation.split}, {evaluation.num_tokens:,} tokens, context {evaluation.seq_len}, "
                    f"world {evaluation.world_size}"
                )
                headline.append((name, f"{float.fromhex(evaluation.val_bpb):.5f}", note))
    return tuple(headline)


def troubles(receipts: Mapping[Lane, Receipt]) -> tuple[TroubleView, ...]:
    """The lanes that did not run to their end."""
    return tuple(
        TroubleView(
            lane=lane.value,
            outcome=receipt.outcome.value,
            problem=plain(receipt.problem or f"exit code {receipt.exit_code}"),
            log=tuple(plain(line) for line in receipt.log_tail[-_LOG_LINES:]),
        )
        for lane in LANES
        if (receipt := receipts.get(lane)) and receipt.outcome is not Outcome.COMPLETE
    )


def columns(comparison: Comparison, receipts: Mapping[Lane, Receipt]) -> tuple[tuple[str, str], ...]:
    """(field of the rows, lane) of the columns that say anything."""
    run = Lane.REHEARSAL if Lane.REHEARSAL in receipts and Lane.ARTIFACT not in receipts else Lane.ARTIFACT
    columns = (("local", Lane.LOCAL), ("artifact", run), ("trusted", Lane.TRUSTED))
    return tuple((name, lane.value) for name, lane in columns if any(getattr(row, name) for row in comparison.rows))


def rows(comparison: Comparison) -> tuple[Row, ...]:
    """The three-column table, without what it says of this machine."""
    return tuple(
        replace(row, local=plain(row.local), artifact=plain(row.artifact), trusted=plain(row.trusted))
        for row in comparison.rows
    )
