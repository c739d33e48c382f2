"""What the program says of its time, charged or in all, against what the contest's clock makes of the run."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from typing import Any

from scorer.compare.case import Case
from scorer.findings import Finding, Severity, define, finding
from scorer.room.receipts import Receipt

RUN035 = define(
    "RUN035",
    title="The program counts its charged time otherwise than the contest",
    why="It stops by a count that is not the contest's: where it counts less it runs over the budget on a host that is "
    "a little slower, where it counts more it gives updates away.",
    remedy="Count from the end of the start-up to the end of the process, saves and evaluations included, and what the "
    "start-up takes beyond the allowance; a margin for what the program cannot see is well placed.",
    severity=Severity.ADVICE,
)
RUN037 = define(
    "RUN037",
    title="The program says that it trained for another time",
    why="Whatever a program takes for training, it is no more than the whole run and no less than the updates after "
    "the start-up: a number outside of that is no count of this run, and who reads the log compares by it.",
    remedy="Take the time when the program begins and when it is read, from one clock and in seconds.",
    severity=Severity.ADVICE,
)
_NUMBER = re.compile(r"(-?[\d,]*\.?\d+(?:e[+-]?\d+)?)\s*s?$")
EXCESS = "the start-up beyond the allowance"
START_UP = "the start-up"
SAME = 0.05  # seconds within which a difference is taken for what a part of the run takes


def judge(
    case: Case,
    receipt: Receipt,
    ours: float,
    parts: Mapping[str, float],
    *,
    low: float,
    high: float | None,
    at: str = "",
) -> Iterator[Finding]:
    """At most one finding: the printed count is more than `low` below `ours`, or more than `high` above it (None: as
    much as it likes), or it says that the run is within the budget where it is not.

    `parts` are the seconds of what a program may have left out or counted too much, by name.
    """
    rules = case.profile.log
    theirs = number(receipt.summary.get(rules.charged, ""))
    if theirs is None:
        return
    apart, rounding = theirs[0] - ours, theirs[1]
    budget = case.profile.budget.train_seconds
    said = receipt.summary.get(rules.over_budget, "").lower()
    wrong = said == "false" and ours > budget + low + rounding
    less, more = apart < -low - rounding, high is not None and apart > high + rounding
    if not (wrong or less or more):
        return
    reason = _reason(abs(apart), parts, rounding)
    told = f"{at}the program counts {theirs[0]:.2f} s as charged, the contest's clock {ours:.2f} s"
    if less or more:
        told += f": {abs(apart):.2f} s too {'few' if less else 'many'}{reason}"
    if wrong:
        told += f"; {rules.over_budget} says {said}, and the budget is {budget:g} s"
    line = case.source.mention(rules.charged)
    fields: dict[str, Any] = case.at(line)
    evidence = {"program": theirs[0], "contest": ours, "said": receipt.summary.get(rules.over_budget)}
    yield finding(RUN035, told, lane=receipt.lane.value, evidence=evidence, **fields)


def judge_training(
    case: Case, receipt: Receipt, updates: float, whole: float, slack: float, *, at: str = ""
) -> Iterator[Finding]:
    """At most one finding: the training time that is printed, or kept in the checkpoint, is more than `slack` below the
    seconds of the charged `updates` or above those of the `whole` run.
    """
    key = case.profile.log.training
    kept = receipt.checkpoint.meta.get(key) if receipt.checkpoint is not None else None
    for where, told in (("prints", receipt.summary.get(key, "")), ("keeps in the checkpoint", str(kept))):
        theirs = number(told)
        if theirs is None or updates - slack - theirs[1] <= theirs[0] <= whole + slack + theirs[1]:
            continue
        yield finding(
            RUN037,
            f"{at}the program {where} {key} {theirs[0]:.2f}, and by the contest's clock the whole run took "
            f"{whole:.2f} s, its updates after the start-up {updates:.2f} s",
            lane=receipt.lane.value,
            evidence={"program": theirs[0], "whole": whole, "updates": updates},
            **case.at(case.source.mention(key)),
        )
        return


def number(printed: str) -> tuple[float, float] | None:
    """A printed number of seconds, and half of its last place; None where there is none."""
    match = _NUMBER.match(printed.strip())
    if match is None:
        return None
    digits = match[1].replace(",", "")
    places = 0 if "e" in digits else len(digits.partition(".")[2])
    return float(digits), 0.5 * 10.0**-places


def _reason(apart: float, parts: Mapping[str, float], rounding: float) -> str:
    """The part, or the two, that take as long as the counts are apart."""
    known = {name: seconds for name, seconds in parts.items() if seconds > SAME}
    for size in (1, 2):
        for names in itertools.combinations(known, size):
            if abs(apart - sum(known[name] for name in names)) <= SAME + rounding:
                return f", which is what {' and '.join(names)} took"
    return ""
