"""Whether a schedule counts start-up: the same updates, after start-ups of different length that are all free."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from scorer.compare.case import Case, paired
from scorer.contest import ClockScript
from scorer.findings import Finding, Severity, define, finding
from scorer.room.receipts import Outcome, Receipt

RUN032 = define(
    "RUN032",
    title="The schedule counts start-up time as progress",
    why="A machine that compiles longer then trains with other learning rates, though the contest charges it nothing.",
    remedy="Count progress from the end of the start-up, over the time that is left of the budget then.",
    severity=Severity.ADVICE,
)


def parting(left: Receipt, right: Receipt) -> int | None:
    """The first update whose losses differ; None where the runs agree as far as both go."""
    firsts = []
    for here, there in paired(left, right):
        for mine, theirs in zip(here.updates, there.updates, strict=False):
            if mine.losses != theirs.losses:
                firsts.append(mine.update)
                break
    return min(firsts, default=None)


def judge(case: Case, scripts: Mapping[str, ClockScript], runs: Mapping[str, Receipt]) -> Iterator[Finding]:
    """At most one finding: the first script that differs from the plan in a free part of the start-up alone, and in
    the losses.
    """
    plan_name, plan = next(iter(scripts.items()))
    base, free = runs[plan_name], case.profile.budget.startup_allowance_seconds
    for name, script in scripts.items():
        if script.model_copy(update={"name": plan_name, "start_up_seconds": plan.start_up_seconds}) != plan:
            continue
        receipt = runs[name]
        if script.start_up_seconds > free or {base.outcome, receipt.outcome} != {Outcome.COMPLETE}:
            continue
        if (update := parting(base, receipt)) is None:
            continue
        # The first loss that differs follows the update before, whose learning rate was decided before its step.
        scripted = receipt.ranks[0].scripted
        decided = next((t for t in scripted.ticks if t.update == update - 1), None) if scripted else None
        site = decided.reads[-1] if decided and decided.reads else None
        yield finding(
            RUN032,
            f"after a start-up of {script.start_up_seconds:g} s the losses part at update {update} from those after "
            f"{plan.start_up_seconds:g} s, though {free:g} s are free",
            **case.at_site(receipt, site),
            lane=receipt.lane.value,
            update=update,
            evidence={"script": name, "plan": plan_name},
        )
        return
