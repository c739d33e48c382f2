"""Scores that are not believed without a look: below a floor, far above a reference, no better than a guess."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from parity_tests import receipts_factory
from parity_tests.trusted_samples import small_profile, submission, written
from scorer.compare.case import Case
from scorer.compare.verdict import decide, undecided
from scorer.contest import Profile
from scorer.findings import Finding, Severity
from scorer.room.receipts import Evaluation, Lane
from scorer.trusted import settings as ways
from scorer.trusted.audit import believable
from scorer.trusted.sources import Source


def profile(floor: float, reference: float | None) -> Profile:
    """The small contest with other limits for an audit; a gain of 0.01 is allowed."""
    small = small_profile()
    audit = small.evaluation.audit.model_copy(update={"floor_bpb": floor, "reference_bpb": reference, "gain_bpb": 0.01})
    return small.model_copy(update={"evaluation": small.evaluation.model_copy(update={"audit": audit})})


def judged(tmp_path: Path, rules: Profile, bpb: float) -> list[Finding]:
    """What is said of an official score."""
    artifact, _ = written(tmp_path, submission())
    settings = rules.evaluation.official
    tokens = ways.num_targets(settings)
    official = Evaluation(
        name=ways.OFFICIAL_SETTINGS,
        split=settings.split,
        seq_len=settings.seq_len,
        batch_size=settings.batch_size,
        world_size=settings.world_size,
        device="cpu",
        num_tokens=tokens,
        num_bytes=2 * tokens,
        total_nats=(bpb * math.log(2) * 2 * tokens).hex(),
        val_bpb=bpb.hex(),
        seconds=1.0,
    )
    assert believable(Source(artifact, rules), rules, [], 61) == []
    return believable(Source(artifact, rules), rules, [official], 61)


@pytest.mark.parametrize(
    ("floor", "reference", "bpb", "codes"),
    [
        (0.5, None, 1.0, []),
        (0.5, None, 0.499, ["SCR020"]),
        (0.5, 1.02, 1.0, ["SCR021"]),
        (0.5, 1.005, 1.0, []),
        (0.5, 0.9, 1.0, []),
        (0.5, 1.0, 0.4, ["SCR020", "SCR021"]),
        (0.5, None, math.log2(61) / 2, ["SCR022"]),
        (0.5, None, math.log2(61) / 2 - 0.001, []),
    ],
)
def test_a_score_asks_for_an_audit_where_the_profile_says_so(
    tmp_path: Path, floor: float, reference: float | None, bpb: float, codes: list[str]
) -> None:
    found = judged(tmp_path, profile(floor, reference), bpb)
    assert [finding.code for finding in found] == codes
    for finding in found:
        if finding.code == "SCR022":
            assert finding.severity is Severity.ADVICE
        else:
            assert undecided(finding)
            assert finding.evidence["decided_by"] == "audit"


def test_an_audit_makes_the_verdict_inconclusive_and_says_what_decides(tmp_path: Path) -> None:
    rules = profile(0.5, None)
    found = judged(tmp_path, rules, 0.3)
    artifact, _ = written(tmp_path, submission())
    receipts = {lane: receipts_factory.receipt(lane) for lane in (Lane.LOCAL, Lane.ARTIFACT, Lane.CONTROL)}
    verdict, reason = decide(Case(artifact, receipts, rules), found)
    assert verdict == "inconclusive"
    assert "an audit decides" in reason
