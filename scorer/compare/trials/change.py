"""A change on trial: two programs that differ in one thing, run in full, pair by pair, and what their difference is.

What a change gives is told in numbers that belong together. At equal time: the difference of the trusted scores. At
equal steps: the difference of the training losses over the last quarter of the steps that both made. What the step time
costs: the time held other many steps, which are worth as much as the old program's own loss falls with the logarithm of
its steps (a line through its second half), and beside it as much as the contest's profile says. What is left of the
difference at equal time without that cost is learned per step. Programs that stop after a number of steps are scored at
equal steps: there the cost is added instead.
"""

from __future__ import annotations

import itertools
import json
import math
import statistics
from collections.abc import Sequence
from typing import Literal

import numpy as np
from pydantic import Field

from scorer.compare.trials.decision import Decision, Measured, Spread, decide, spread
from scorer.compare.trials.interval import log_ratio
from scorer.compare.trials.matching import Difference, Matched
from scorer.compare.trials.result import Part
from scorer.contest import Profile
from scorer.room.race import Course, Race
from scorer.room.receipts import Outcome, Receipt
from scorer.trusted import settings as ways

SCHEMA_VERSION = 1
TAIL = 4  # losses are compared over the last one of so many parts of the steps that both made
FEWEST_STEPS = 8  # a line through fewer losses says nothing
FIXED = 2  # programs stopped by the clock make other numbers of steps, where their times differ by more than so many
LN2 = math.log(2)


class Arm(Part):
    """One full run: of the old program, or of the new one."""

    seed: str = Field(description="value of the knob in which the builds of one program differ; empty where it is one")
    steps: int
    seconds_per_step: float = Field(description="median after the start-up")
    val_bpb: float = Field(description="by the trusted scorer, public settings")
    losses: list[float] = Field(description="nats per token of each update, mean of the ranks")
    seconds: list[float] = Field(description="since the first update's end, of each update")
    bytes_per_token: float = Field(description="of the scored tokens: nats per token become bits per byte by it")


class PairResult(Part):
    """Both runs of one seed, and their difference in bits per byte: below zero the new program is better."""

    seed: str
    old: Arm
    new: Arm
    step_ratio: float = Field(description="steps that the same time holds, new over old")
    time_ratio: float = Field(description="seconds per step, new over old")
    fixed_steps: bool = Field(description="whether both stopped after a number of steps, and not by the clock")
    at_equal_time: float = Field(description="of the scores; of fixed steps with what the steps cost added")
    at_equal_steps: float | None = Field(description="of the training losses; null where no backward was seen")
    equal_steps: int = Field(description="steps at whose end the losses are compared")
    bpb_per_percent: float | None = Field(description="what 1 % more steps give by the old run's own curve")
    steps_cost: float | None = Field(description="what the other number of steps costs, by that curve")
    steps_cost_by_profile: float | None = Field(description="the same by facts.noise.bpb_per_percent_of_steps")
    per_step: float | None = Field(description="at_equal_time without steps_cost: what is learned per step")


class Gate(Part):
    """The short race before the full runs."""

    updates: int
    time_ratio: float | None
    loss_difference: float | None = Field(description="nats, mean over the second half of the updates")
    stopped: str = Field(description="why the trial ends here; empty where it goes on")


class ChangeTrial(Part):
    """The document `trial.json` of `scorer trial`."""

    schema_version: int = SCHEMA_VERSION
    trial: Literal["change"] = "change"
    contest: str
    contest_version: int
    old_sha256: list[str]
    new_sha256: list[str]
    launch: str
    decision: Decision
    reason: str
    difference: Difference
    gate: Gate
    pairs: list[PairResult]
    control: Arm | None = Field(description="the first old program, run once more at the end")
    control_drift: float | None
    at_equal_time: Spread | None
    at_equal_steps: Spread | None
    steps_cost: Spread | None
    per_step: Spread | None

    def json_text(self) -> str:
        """Sorted, indented JSON that ends with a newline."""
        return json.dumps(self.model_dump(mode="json"), indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def gate_course(profile: Profile) -> Course:
    """What both programs run in the short race."""
    return Course(
        start_up=max(1, profile.budget.startup_updates_excluded),
        start_up_seconds=profile.budget.run_timeout_seconds,
        counted=0,
        by_processor=False,
        timed=profile.trial.gate.updates,
        together=profile.speed_trial.together,
    )


def judge_gate(raced: Race, profile: Profile) -> Gate:
    """What the short race says: whether it is worth to go on."""
    rules = profile.trial
    for receipt, which in zip(raced.receipts, ("old", "new"), strict=True):
        if receipt.outcome is not Outcome.COMPLETE:
            return _stopped(0, None, None, f"the {which} program {receipt.outcome.value}: {receipt.problem}")
    timed = [[taken.seconds for taken in side] for side in raced.timed]
    made = min(map(len, timed))
    ratio = math.exp(log_ratio(timed[0][:made], timed[1][:made])) if made else None
    curves = [_losses(receipt) for receipt in raced.receipts]
    steps = min(map(len, curves))
    if not steps:
        return _stopped(made, ratio, None, "")
    old, new = (statistics.fmean(curve[steps // 2 : steps]) for curve in curves)
    apart = new - old
    stopped = ""
    if not math.isfinite(new):
        stopped = "the new program's loss is no number"
    elif ratio is not None and not rules.step_ratio[0] <= 1 / ratio <= rules.step_ratio[1]:
        stopped = (
            f"the new program makes {1 / ratio:.3f} times as many steps in the same time, outside "
            f"{rules.step_ratio[0]:g} to {rules.step_ratio[1]:g}: the comparison is confounded"
        )
    elif apart > rules.gate.worse_nats and (ratio is None or ratio >= 1):
        stopped = (
            f"the new program's loss is {apart:.4f} nats higher after {steps} steps, more than "
            f"{rules.gate.worse_nats:g}, and it is no faster"
        )
    return _stopped(made, ratio, apart if math.isfinite(apart) else None, stopped)


def arm(seed: str, receipt: Receipt, scored: Receipt | None, profile: Profile) -> Arm | str:
    """One full run with its score, or why there is none."""
    if receipt.outcome is not Outcome.COMPLETE:
        return f"{receipt.outcome.value}: {receipt.problem}"
    evaluation = None if scored is None else ways.trusted(scored.evaluations, profile.evaluation.public)
    if evaluation is None:
        return "it has no trusted score" + (f": {scored.problem}" if scored is not None and scored.problem else "")
    updates = receipt.ranks[0].updates
    charged = updates[min(profile.budget.startup_updates_excluded, len(updates) - 1) :]
    seconds = [*itertools.accumulate(update.seconds for update in updates[1:])]
    return Arm(
        seed=seed,
        steps=len(updates),
        seconds_per_step=statistics.median(update.seconds for update in charged),
        val_bpb=float.fromhex(evaluation.val_bpb),
        losses=_losses(receipt),
        seconds=[0.0, *seconds],
        bytes_per_token=evaluation.num_bytes / evaluation.num_tokens,
    )


def compare(old: Arm, new: Arm, profile: Profile) -> PairResult:
    """The difference of one pair's runs."""
    steps = min(len(old.losses), len(new.losses))
    tail = slice(steps - max(1, steps // TAIL), steps)
    nats = statistics.fmean(new.losses[tail]) - statistics.fmean(old.losses[tail]) if steps else None
    scores = new.val_bpb - old.val_bpb
    time_ratio = new.seconds_per_step / old.seconds_per_step
    is_fixed = old.steps == new.steps and abs(time_ratio - 1) * old.steps > FIXED
    ratio = 1 / time_ratio if is_fixed else new.steps / old.steps
    slope = _slope(old)
    cost = None if slope is None else slope * math.log(ratio)
    at_equal_time = scores + (cost or 0.0) if is_fixed else scores
    stated = profile.facts.noise.bpb_per_percent_of_steps if profile.facts is not None else None
    return PairResult(
        seed=old.seed,
        old=old,
        new=new,
        step_ratio=ratio,
        time_ratio=time_ratio,
        fixed_steps=is_fixed,
        at_equal_time=at_equal_time,
        at_equal_steps=None if nats is None else nats / (LN2 * old.bytes_per_token),
        equal_steps=steps,
        bpb_per_percent=None if slope is None else -slope * math.log(1.01),
        steps_cost=cost,
        steps_cost_by_profile=None if stated is None else -100 * stated * math.log(ratio),
        per_step=None if cost is None else at_equal_time - cost,
    )


def conclude(
    pairs: Sequence[Matched],
    launch: str,
    profile: Profile,
    changed: Difference,
    gate: Gate,
    results: Sequence[PairResult],
    control: Arm | None,
    failed: str = "",
) -> ChangeTrial:
    """The trial with its decision. `failed`: why a full run gave nothing."""
    drift = None if control is None or not results else control.val_bpb - results[0].old.val_bpb
    rules = profile.trial
    measured = Measured([one.at_equal_time for one in results], [one.step_ratio for one in results], drift)
    if failed:
        decision, reason = _of_failure(failed)
    elif gate.stopped and not results:
        decision, reason = _of_gate(gate)
    else:
        decision, reason = decide(measured, rules)
    costs = [one.steps_cost for one in results if one.steps_cost is not None]
    at_steps = [one.at_equal_steps for one in results if one.at_equal_steps is not None]
    learned = [one.per_step for one in results if one.per_step is not None]
    return ChangeTrial(
        contest=profile.name,
        contest_version=profile.version,
        old_sha256=[pair.old.sha256 for pair in pairs],
        new_sha256=[pair.new.sha256 for pair in pairs],
        launch=launch,
        decision=decision,
        reason=reason,
        difference=changed,
        gate=gate,
        pairs=list(results),
        control=control,
        control_drift=drift,
        at_equal_time=spread([one.at_equal_time for one in results], rules.confidence),
        at_equal_steps=spread(at_steps, rules.confidence),
        steps_cost=spread(costs, rules.confidence),
        per_step=spread(learned, rules.confidence),
    )


def _of_gate(gate: Gate) -> tuple[Decision, str]:
    reason = f"The gate, after {gate.updates} updates of each: {gate.stopped}."
    if "confounded" in gate.stopped:
        return "confounded", reason
    return _of_failure(gate.stopped)[0], reason


def _of_failure(why: str) -> tuple[Decision, str]:
    """A new program that does not run is rejected; where the old one does not, nothing is known."""
    if why.startswith("the old program"):
        return "undecided", f"{why[0].upper()}{why[1:]}; what would decide: an old program that runs to its end."
    return "reject", f"{why[0].upper()}{why[1:]}."


def _stopped(updates: int, ratio: float | None, apart: float | None, why: str) -> Gate:
    return Gate(updates=updates, time_ratio=ratio, loss_difference=apart, stopped=why)


def _losses(receipt: Receipt) -> list[float]:
    """Of each update what backward was called on, its micro-batches added up, the mean of the ranks."""
    curves = [
        [math.fsum(map(float.fromhex, update.losses)) for update in rank.updates if update.losses]
        for rank in receipt.ranks
    ]
    return [statistics.fmean(losses) for losses in zip(*curves, strict=False)]


def _slope(run: Arm) -> float | None:
    """Bits per byte by which the loss changes when steps become e times as many, over the second half of a run."""
    first = len(run.losses) // 2
    tail = run.losses[first:]
    if len(tail) < FEWEST_STEPS:
        return None
    steps = [math.log(step) for step in range(first + 1, len(run.losses) + 1)]
    return float(np.polyfit(steps, tail, 1)[0]) / (LN2 * run.bytes_per_token)
