"""No verdict without evidence: missing lanes, blind controls and unlike conditions never pass; offsets add up."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parity_tests.receipts_factory import artifact, codes, evaluation, judged, load, parity
from scorer.compare import compare
from scorer.compare.case import Case
from scorer.compare.offsets import offsets
from scorer.contest import AllowedOffset, Profile
from scorer.findings import Finding, finding
from scorer.room.receipts import Clock, Evaluation, KitCheck, Lane, Outcome, Receipt, Site

Lanes = dict[Lane, Receipt]


@pytest.mark.parametrize("lane", [Lane.LOCAL, Lane.ARTIFACT, Lane.CONTROL, Lane.TRUSTED])
def test_a_missing_lane_never_passes(lane: Lane) -> None:
    comparison = judged(lambda lanes: lanes.pop(lane) and None)
    assert comparison.verdict == "inconclusive"
    assert "CTL002" in codes(comparison)
    assert lane.value in comparison.reason


@pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.TIMED_OUT])
@pytest.mark.parametrize("lane", [Lane.LOCAL, Lane.ARTIFACT, Lane.CONTROL, Lane.TRUSTED])
def test_a_lane_that_did_not_end_never_passes(lane: Lane, outcome: Outcome) -> None:
    def change(lanes: Lanes) -> None:
        lanes[lane].outcome = outcome
        lanes[lane].problem = "rank 1 was killed by SIGKILL"
        lanes[lane].problem_site = Site(file="train.py", line=12)

    comparison = judged(change)
    assert comparison.verdict == "inconclusive"
    assert "SIGKILL" in comparison.reason


def test_an_artifact_that_does_not_run_fails_and_says_so_first() -> None:
    def change(lanes: Lanes) -> None:
        lanes[Lane.ARTIFACT].outcome = Outcome.FAILED
        lanes[Lane.ARTIFACT].observed_findings = [
            finding("RUN001", "rank 0: ValueError: no", lane="artifact").model_dump(mode="json")
        ]
        for rank in lanes[Lane.LOCAL].ranks:
            rank.knobs["depth"] = 9

    comparison = judged(change)
    assert comparison.verdict == "fail"
    assert codes(comparison)[:2] == ["RUN001", "KNB001"]


def test_a_recipe_that_does_not_run_says_nothing_against_the_artifact() -> None:
    def change(lanes: Lanes) -> None:
        lanes[Lane.LOCAL].outcome = Outcome.FAILED
        lanes[Lane.LOCAL].problem = "rank 0: ValueError: no"
        lanes[Lane.LOCAL].observed_findings = [
            finding("RUN001", "rank 0: ValueError: no", lane="local").model_dump(mode="json")
        ]

    assert judged(change).verdict == "inconclusive"


def test_a_control_that_shows_nothing_is_inconclusive() -> None:
    def change(lanes: Lanes) -> None:
        for control, clean in zip(lanes[Lane.CONTROL].ranks, lanes[Lane.ARTIFACT].ranks, strict=True):
            control.updates = clean.updates[: len(control.updates)]

    comparison = judged(change)
    assert comparison.verdict == "inconclusive"
    assert codes(comparison) == ["CTL001"]


def test_missing_evidence_is_not_the_profiles_to_forgive() -> None:
    rules = dict.fromkeys(("CTL001", "CTL002", "CTL003"), "off")
    profile = load("embedded").model_copy(update={"rules": rules})
    assert judged(lambda lanes: lanes.pop(Lane.CONTROL) and None, profile=profile).verdict == "inconclusive"


def _other_kit(receipt: Receipt) -> None:
    receipt.kit.prepare_sha256 = "00" * 32


def _other_clock(receipt: Receipt) -> None:
    receipt.clock = Clock(kind="real")


def _other_profile(receipt: Receipt) -> None:
    receipt.profile_version = 2


@pytest.mark.parametrize("change", [_other_kit, _other_clock, _other_profile])
def test_unlike_conditions_are_refused(change: Callable[[Receipt], None]) -> None:
    comparison = judged(lambda lanes: change(lanes[Lane.ARTIFACT]))
    assert comparison.verdict == "inconclusive"
    assert set(codes(comparison)) == {"CTL004"}


def test_a_finding_against_the_submission_outweighs_missing_evidence() -> None:
    def change(lanes: Lanes) -> None:
        del lanes[Lane.CONTROL]
        for rank in lanes[Lane.LOCAL].ranks:
            rank.knobs["depth"] = 9

    comparison = judged(change)
    assert comparison.verdict == "fail"
    assert codes(comparison) == ["KNB001", "CTL002"]


def test_two_files_need_no_trusted_lane() -> None:
    def change(lanes: Lanes) -> None:
        del lanes[Lane.TRUSTED]
        lanes[Lane.LOCAL].subject.kind = "file"
        lanes[Lane.LOCAL].launch = lanes[Lane.ARTIFACT].launch

    assert judged(change).verdict == "pass"


def test_a_rehearsal_needs_no_control() -> None:
    lanes = parity()
    rehearsal = lanes[Lane.ARTIFACT].model_copy(update={"lane": Lane.REHEARSAL})
    comparison = compare(
        artifact(), {Lane.REHEARSAL: rehearsal, Lane.TRUSTED: lanes[Lane.TRUSTED]}, [], load("embedded")
    )
    assert comparison.verdict == "pass"
    assert codes(comparison) == []


def test_findings_of_the_review_and_of_the_rooms_are_kept_once() -> None:
    found = finding("OPS001", "told by a room", lane="artifact")

    def change(lanes: Lanes) -> None:
        lanes[Lane.ARTIFACT].observed_findings = [found.model_dump(mode="json")]

    comparison = judged(change, reviewed=[found])
    assert comparison.findings == [found]
    assert isinstance(comparison.findings[0], Finding)


# --- Offsets ---


def trusted(lanes: Lanes, name: str) -> Evaluation:
    return next(one for one in lanes[Lane.TRUSTED].evaluations if one.name == name)


def test_the_offset_has_one_part_for_each_thing_that_changed() -> None:
    parts = judged().offsets
    assert [part.name for part in parts] == ["weights after save", "import path", "shard", "token count"]
    assert [part.part_bpb for part in parts[2:]] == [0.0625, 0.0625]
    assert (parts[0].from_bpb, parts[-1].to_bpb) == (2.5, 2.625)


def with_offset(**known: object) -> Profile:
    """The embedded contest, which knows how far the official settings lie from the public ones."""
    profile = load("embedded")
    rules = profile.evaluation
    names = ("split", "max_tokens", "seq_len", "batch_size", "world_size")
    change = {
        name: [getattr(rules.public, name), getattr(rules.official, name)]
        for name in names
        if getattr(rules.public, name) != getattr(rules.official, name)
    }
    offset = AllowedOffset.model_validate({"name": "official minus public", "change": change, **known})
    return profile.model_copy(update={"evaluation": rules.model_copy(update={"allowed_offsets": [offset]})})


def without_the_official_split(lanes: Lanes) -> None:
    lanes[Lane.TRUSTED].evaluations = [one for one in lanes[Lane.TRUSTED].evaluations if one.split == "public_val"]


@pytest.mark.parametrize(
    ("known", "part", "spread"),
    [
        ({"bpb": [0.05, 0.075], "mean": 0.0625, "sd": 0.001}, 0.0625, 0.001),
        ({"bpb": [0.05, 0.075]}, 0.0625, 0.0125),
    ],
)
def test_what_only_the_organiser_can_measure_is_expected_from_the_profile(
    known: dict[str, object], part: float, spread: float
) -> None:
    parts = judged(without_the_official_split, profile=with_offset(**known)).offsets
    assert [one.name for one in parts[:2]] == ["weights after save", "import path"]
    assert parts[-1].name == "official minus public, expected"
    assert parts[-1].reaches == "expected, official settings"
    assert (parts[-1].part_bpb, parts[-1].spread_bpb) == (pytest.approx(part), pytest.approx(spread))
    assert all(one.spread_bpb is None for one in parts[:-1])


def test_nothing_is_expected_that_was_measured_or_that_the_profile_does_not_know() -> None:
    measured = judged(profile=with_offset(bpb=[0.05, 0.2])).offsets
    assert (measured[-1].reaches, measured[-1].spread_bpb) == ("trusted, official settings", None)
    unknown = judged(without_the_official_split).offsets
    assert [one.name for one in unknown] == ["weights after save", "import path"]


@settings(deadline=None, max_examples=50)
@given(st.lists(st.floats(0.5, 8.0), min_size=4, max_size=4), st.floats(0.5, 8.0))
def test_the_parts_add_up_exactly(scores: list[float], memory: float) -> None:
    lanes = parity()
    for one, bpb in zip(lanes[Lane.TRUSTED].evaluations, scores, strict=True):
        one.val_bpb = bpb.hex()
    num_bytes = int(lanes[Lane.LOCAL].summary["eval_bytes"])
    lanes[Lane.LOCAL].summary["memory_total_nats"] = repr(memory * math.log(2) * num_bytes)
    parts = offsets(Case(artifact(), lanes, load("embedded")))
    whole = Fraction(parts[-1].to_bpb) - Fraction(parts[0].from_bpb)
    assert sum((part.exact for part in parts), Fraction(0)) == whole
    assert all(before.to_bpb == after.from_bpb for before, after in itertools.pairwise(parts))


def test_weights_that_change_in_saving_are_a_finding() -> None:
    def change(lanes: Lanes) -> None:
        nats = float(lanes[Lane.LOCAL].summary["memory_total_nats"])
        lanes[Lane.LOCAL].summary["memory_total_nats"] = repr(nats * 0.99)

    comparison = judged(change)
    assert codes(comparison) == ["SCR004"]
    assert "weights after save" in comparison.findings[0].message


def test_an_offset_within_the_agreement_is_none() -> None:
    def change(lanes: Lanes) -> None:
        nats = float(lanes[Lane.LOCAL].summary["memory_total_nats"])
        lanes[Lane.LOCAL].summary["memory_total_nats"] = repr(nats * (1 + 1e-7))

    assert judged(change).verdict == "pass"


def test_no_offset_is_told_across_different_checkpoints() -> None:
    def change(lanes: Lanes) -> None:
        checkpoint = lanes[Lane.TRUSTED].checkpoint
        assert checkpoint is not None
        checkpoint.tensor_hashes["head.weight"] = "0" * 32

    names = [part.name for part in judged(change).offsets]
    assert names == ["shard", "token count"]


def test_the_table_says_which_rows_agree() -> None:
    rows = {row.label: row for row in judged().rows}
    assert rows["val_bpb, recipe's settings"].agree is True
    assert rows["checkpoint tensors"].agree is True
    assert rows["val_bpb, official settings"].agree is None
    assert rows["val_bpb, official settings"].trusted == "2.625000"

    def change(lanes: Lanes) -> None:
        lanes[Lane.ARTIFACT].ranks[0].updates[-1].losses[-1] = (1.0).hex()
        trusted(lanes, "trusted, public settings").val_bpb = (2.6).hex()

    rows = {row.label: row for row in judged(change).rows}
    assert rows["last loss"].agree is False
    assert rows["val_bpb, recipe's settings"].agree is False


def test_the_kits_own_numbers_stand_beside_the_judges() -> None:
    by_kit = evaluation("kit, called, public settings", "public_val", 4096, 2.5)
    check = KitCheck(name="causality_check", batch_size=4, seq_len=128, passed=True, max_abs_diff="0x0.0p+0", seconds=1)

    def change(lanes: Lanes) -> None:
        lanes[Lane.TRUSTED].evaluations.append(by_kit)
        lanes[Lane.TRUSTED].kit_checks.append(check)

    def differs(lanes: Lanes) -> None:
        other = by_kit.model_copy(update={"val_bpb": (2.6).hex()})
        lanes[Lane.TRUSTED].evaluations.append(other)
        lanes[Lane.TRUSTED].kit_checks.append(check.model_copy(update={"passed": False}))

    for each, agree, outcome in ((change, True, "passed"), (differs, False, "failed")):
        rows = {row.label: row for row in judged(each).rows}
        assert rows["val_bpb, public settings, by the kit's own code"].agree is agree
        assert rows["causality_check, the kit's own"].agree is agree
        assert rows["causality_check, the kit's own"].trusted == f"{outcome}, largest change 0"


def test_the_kits_command_is_shown_beside_what_was_measured_on_one_rank() -> None:
    embedded = load("embedded")
    public = embedded.evaluation.public.model_copy(update={"world_size": 8})
    profile = embedded.model_copy(update={"evaluation": embedded.evaluation.model_copy(update={"public": public})})
    rows = {row.label: row for row in judged(profile=profile).rows}
    assert "val_bpb, public settings" not in rows  # nothing was measured on 8 ranks
    assert rows["val_bpb, public settings on one rank"].agree is True
    assert "val_bpb, public settings on one rank" not in {row.label for row in judged().rows}
