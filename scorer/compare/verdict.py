"""From findings to a verdict: severity by the profile, the most telling finding first, and one reason."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Literal

from scorer.compare import control
from scorer.compare.case import Case
from scorer.contest import Profile
from scorer.findings import Finding, Severity
from scorer.room.bounds import OVER_LIMIT
from scorer.room.lane import FAILED, MISSING_MODULE, TIMED_OUT
from scorer.room.receipts import Lane

Verdict = Literal["pass", "fail", "inconclusive"]

# Causes before symptoms: what the program was told, what it left and did, how it reads, what ran, what came out.
FAMILIES = ("KNB", "ENV", "CKP", "RUN", "REV", "PUR", "OPT", "KRN", "OPS", "LCK", "WLD", "SPD", "SCR", "CTL")
DID_NOT_RUN = (FAILED, TIMED_OUT, MISSING_MODULE, OVER_LIMIT)
"""Codes of an artifact that did not run: nothing else about it matters more."""

_OWN_LANES = (Lane.LOCAL.value, Lane.CONTROL.value)


def weighed(findings: Iterable[Finding], profile: Profile) -> list[Finding]:
    """Findings with the profile's severity, "off" dropped. That evidence is missing is not the profile's to decide."""
    kept: dict[str, Finding] = {}
    for found in findings:
        rule = profile.rules.get(found.code)
        if rule is not None and found.code not in control.UNDECIDED:
            if rule == "off":
                continue
            found = found.model_copy(update={"severity": Severity(rule)})
        kept.setdefault(found.model_dump_json(), found)
    return list(kept.values())


def undecided(found: Finding) -> bool:
    """Whether a finding says that evidence is missing rather than that the submission is wrong.

    A recipe or a control that did not run says nothing against the artifact.
    """
    return found.code in control.UNDECIDED or (found.code in DID_NOT_RUN and found.lane in _OWN_LANES)


def ordered(findings: Iterable[Finding]) -> list[Finding]:
    """The most telling first: hard before advice, causes before symptoms, earlier updates before later ones."""

    def key(found: Finding) -> tuple[object, ...]:
        stopped = found.code in DID_NOT_RUN and not undecided(found)
        return (
            found.severity is not Severity.HARD,
            undecided(found),
            not stopped,
            FAMILIES.index(found.code[:3]),
            found.update if found.update is not None else math.inf,  # of the whole run, seen at its end
            found.code,
            found.rank if found.rank is not None else -1,
            found.place is None,
            str(found.place),
            found.message,
        )

    return sorted(findings, key=key)


def in_short(found: Finding) -> str:
    """Code, message and, where it has one, place of a finding."""
    where = f" ({found.place})" if found.place else ""
    return f"{found.code} {found.message}{where}"


def decide(case: Case, findings: Sequence[Finding]) -> tuple[Verdict, str]:
    """The verdict and its reason. `findings` are weighed and ordered."""
    hard = [found for found in findings if found.severity is Severity.HARD and not undecided(found)]
    if hard:
        count = "one finding" if len(hard) == 1 else f"{len(hard)} findings, the first"
        return "fail", f"{count}: {in_short(hard[0])}"
    open_questions = [found for found in findings if undecided(found)]
    if open_questions:
        return (
            "inconclusive",
            f"{open_questions[0].message}; no finding stands against the submission, none was refuted",
        )
    return "pass", _what_was_shown(case)


def _what_was_shown(case: Case) -> str:
    if Lane.REHEARSAL in case.receipts:
        return "the run ended by itself, its checkpoint loads, and the model is pure"
    local = case.local
    assert local is not None  # a missing lane is a finding
    updates = max(len(rank.updates) for rank in local.ranks)
    seen = control.difference(case)
    ranks = "one rank" if len(local.ranks) == 1 else f"{len(local.ranks)} ranks"
    agree = f"recipe and artifact agree bit for bit over {updates} updates on {ranks}"
    return f"{agree}; the control, changed on purpose, differs first in the {seen}"
