"""Comparison: from receipts to findings, an explained offset and a verdict.

    comparison = compare(artifact, receipts, reviewed, profile)

One module per idea: knobs, environment, optimizers, kernels, operators, lockstep, control, offsets, ranking,
clock, own_count, early_data, first_uses, pace, checkpoint, printed, files; `calls` says where two runs part, `table`
lays the lanes side by side, `verdict` weighs and orders what was found. Everything known comes from receipts; nothing
is run here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from scorer.artifact import Artifact
from scorer.compare import (
    checkpoint,
    clock,
    control,
    early_data,
    environment,
    files,
    first_uses,
    kernels,
    knobs,
    lockstep,
    offsets,
    operators,
    optimizers,
    pace,
    printed,
    ranking,
    table,
    verdict,
)
from scorer.compare.case import Case
from scorer.compare.result import Comparison, Offset, Row
from scorer.contest import Profile
from scorer.findings import Finding
from scorer.room.receipts import Lane, Receipt

__all__ = ["Comparison", "Offset", "Row", "compare"]


def compare(
    artifact: Artifact, receipts: Mapping[Lane, Receipt], reviewed: Sequence[Finding], profile: Profile
) -> Comparison:
    """Compare the lanes of one artifact. `reviewed` are the findings of the static review."""
    case = Case(artifact, receipts, profile)
    parts = offsets.offsets(case)
    found = [
        *reviewed,
        *_observed(receipts),
        *knobs.compare(case),
        *environment.compare(case),
        *optimizers.compare(case),
        *kernels.compare(case),
        *operators.compare(case),
        *lockstep.compare(case),
        *printed.compare(case),
        *files.compare(case),
        *offsets.check(case, parts),
        *ranking.compare(case),
        *clock.compare(case),
        *early_data.compare(case),
        *first_uses.compare(case),
        *pace.compare(case),
        *checkpoint.compare(case),
        *control.compare(case),
    ]
    findings = verdict.ordered(verdict.weighed(found, profile))
    decision, reason = verdict.decide(case, findings)
    return Comparison(decision, reason, findings, table.rows(case), parts)


def _observed(receipts: Mapping[Lane, Receipt]) -> list[Finding]:
    """What the rooms found while the lanes ran."""
    return [
        Finding.model_validate(found) for lane in Lane if lane in receipts for found in receipts[lane].observed_findings
    ]
