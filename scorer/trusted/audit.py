"""Scores that are too good, or no better than a guess: what asks for a look by a person instead of passing."""

from __future__ import annotations

import math
from collections.abc import Sequence

from scorer.contest import Profile
from scorer.findings import Finding, Severity, define
from scorer.room.receipts import Evaluation
from scorer.trusted import settings as ways
from scorer.trusted.sources import Source

SCR020 = define(
    "SCR020",
    title="The score is below the contest's floor: audit",
    why="Nothing honest was ever seen there. The tests of purity found nothing, and they cannot find everything.",
    remedy="Read how the score comes about: data, byte table, the hook that loads, forward; then raise the profile's "
    "evaluation.audit.floor_bpb, or refuse the submission.",
)
SCR021 = define(
    "SCR021",
    title="The score is better than the reference by more than the contest allows: audit",
    why="A gain of that size is more often a mistake in what is measured than a better model.",
    remedy="Score the reference again beside it; find what makes the difference; then set the profile's "
    "evaluation.audit.reference_bpb to the new score.",
)
SCR022 = define(
    "SCR022",
    title="The score is no better than a uniform guess",
    why="A model that has learned anything is better: weights, vocabulary or dtype are not the trained ones.",
    remedy="Compare the hook with how the recipe builds its model, and the checkpoint with the one it saved.",
    severity=Severity.ADVICE,
)


def believable(source: Source, profile: Profile, evaluations: Sequence[Evaluation], vocabulary: int) -> list[Finding]:
    """Findings about the official score, taken by itself."""
    official = ways.trusted(evaluations, profile.evaluation.official)
    if official is None:
        return []
    rules, line = profile.evaluation.audit, source.loader()
    bpb = float.fromhex(official.val_bpb)
    evidence = {"val_bpb": official.val_bpb, "decided_by": "audit"}
    findings = []
    if bpb < rules.floor_bpb:
        message = f"{bpb:.6f} bpb is below the floor of {rules.floor_bpb:g}: an audit decides, no test does"
        findings.append(source.raise_at(SCR020, message, line, evidence=evidence))
    if rules.reference_bpb is not None and rules.reference_bpb - bpb > rules.gain_bpb:
        message = (
            f"{bpb:.6f} bpb is {rules.reference_bpb - bpb:.6f} better than the reference of {rules.reference_bpb:g}, "
            f"allowed {rules.gain_bpb:g}: an audit decides, no test does"
        )
        findings.append(source.raise_at(SCR021, message, line, evidence=evidence))
    uniform = math.log(vocabulary) * official.num_tokens / (math.log(2) * official.num_bytes)
    if bpb >= uniform:
        message = f"{bpb:.6f} bpb, and guessing uniformly among {vocabulary} tokens is {uniform:.6f}"
        findings.append(source.raise_at(SCR022, message, line))
    return findings
