"""Whether the checkpoint is of the run that left it: its step is the run's last one."""

from __future__ import annotations

from collections.abc import Iterator

from scorer.compare.case import Case
from scorer.findings import Finding, define, finding
from scorer.room.receipts import Outcome, Receipt

CKP006 = define(
    "CKP006",
    title="The checkpoint is of another step than the run's last one",
    why="What is scored is then not what the run ended with: a probe's checkpoint that nothing replaced, one from the "
    "middle of the run, or one that an earlier run left.",
    remedy="Save once, after the last update, under the contest's name; give other checkpoints other names. The step "
    "in the checkpoint is the number of updates made, or the last one's number from 0.",
)


def compare(case: Case) -> list[Finding]:
    """At most one finding: the artifact's checkpoint is told first, as that is the one that counts."""
    for receipt in (case.artifact_lane, case.local):
        if receipt is not None and (found := next(_step(case, receipt), None)) is not None:
            return [found]
    return []


def _step(case: Case, receipt: Receipt) -> Iterator[Finding]:
    if receipt.outcome is not Outcome.COMPLETE or receipt.checkpoint is None or not receipt.ranks:
        return
    key = case.profile.files.step_key
    step = receipt.checkpoint.meta.get(key)
    made = max(len(rank.updates) for rank in receipt.ranks)
    if isinstance(step, bool) or not isinstance(step, int | float) or step in (made, made - 1):
        return
    yield finding(
        CKP006,
        f"{receipt.checkpoint.path} says {key} {step}, and the run made {made} updates",
        lane=receipt.lane.value,
        evidence={"step": step, "updates": made},
        **case.at(case.source.save()),
    )
