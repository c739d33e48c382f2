"""What a profile makes of receipts made by hand: its clock, its score, its offsets, its tokens, its machine."""

from collections.abc import Callable

import pytest

from parity_tests.receipts_factory import codes, judged, load
from scorer.compare.clock import charged
from scorer.contest import AllowedOffset, Budget, Fingerprint, Profile
from scorer.findings import Severity
from scorer.room.receipts import Clock, Lane, Receipt, TimeSplit

BUDGET = load("embedded").budget  # 60 s, start-up free up to 30 s, charged to the process's end, reserve 2 s


def real(*, start_up: float, train: float, tail: float) -> Callable[[dict[Lane, Receipt]], None]:
    """Every lane on the real clock, the artifact's with these times."""

    def change(lanes: dict[Lane, Receipt]) -> None:
        for receipt in lanes.values():
            receipt.clock = Clock(kind="real") if receipt.clock else None
        total = start_up + train + tail
        lanes[Lane.ARTIFACT].time = TimeSplit(start_up=start_up, train=train, tail=tail, total=total)

    return change


@pytest.mark.parametrize(
    ("start_up", "train", "tail", "code"),
    [
        (30.0, 57.0, 1.0, None),  # 58 s: the reserve is just there
        (30.0, 57.0, 1.5, "RUN015"),
        (30.0, 58.0, 2.0, "RUN015"),  # 60 s: nothing left, and not over
        (30.0, 58.0, 2.1, "RUN014"),  # the save and the exit count
        (33.0, 57.5, 0.0, "RUN014"),  # so does the excess of the start-up
        (90.0, 0.0, 0.0, "RUN015"),
        (5.0, 58.0, 0.0, None),  # a short start-up earns nothing
    ],
)
def test_a_run_over_the_budget_is_found_and_one_that_is_nearly(
    start_up: float, train: float, tail: float, code: str | None
) -> None:
    comparison = judged(real(start_up=start_up, train=train, tail=tail))
    assert [c for c in codes(comparison) if c in ("RUN014", "RUN015")] == ([code] if code else [])
    assert (comparison.verdict == "pass") == (code != "RUN014")


def test_the_finding_holds_the_numbers() -> None:
    (found,) = (f for f in judged(real(start_up=33.0, train=57.5, tail=0.5)).findings if f.code == "RUN014")
    assert found.severity is Severity.HARD
    assert found.message.startswith("61.0 s are charged of 60 s, 1.0 s over: start-up took 33.0 s, of which 30 s are")
    assert found.evidence == {"charged": 61.0, "budget": 60.0, "left": -1.0, "start_up": 33.0}


def test_a_virtual_clock_says_nothing_of_the_budget() -> None:
    def change(lanes: dict[Lane, Receipt]) -> None:
        lanes[Lane.ARTIFACT].time = TimeSplit(start_up=10.0, train=600.0, tail=1.0, total=611.0)

    assert judged(change).verdict == "pass"


@pytest.mark.parametrize(
    ("change", "total"),
    [
        ({}, 43.0),
        ({"charged_until": "last_update"}, 41.0),
        ({"startup_allowance_seconds": 0.0}, 73.0),
        ({"startup_allowance_seconds": 40.0}, 42.0),
    ],
)
def test_the_rules_of_the_clock_are_the_profiles(change: dict[str, object], total: float) -> None:
    budget = Budget.model_validate({**BUDGET.model_dump(), **change})
    time = TimeSplit(start_up=31.0, train=40.0, tail=2.0, total=73.0)
    assert charged(time, budget).total == total


def test_a_part_of_the_score_that_nobody_measures_is_told() -> None:
    assert "SCR008" not in codes(judged())
    profile = load("embedded").model_copy(update={"evaluation": load("trainium-frontier-phase2").evaluation})
    found = [f for f in judged(profile=profile).findings if f.code == "SCR008"]
    assert [f.message for f in found] == [
        "CORE, 50% of the contest's score, is not measured; its measurement may take 3600 s",
        "val_bpb, 50% of the contest's score, counts min-max-normalised over all entrants: its worth is not known here",
    ]
    assert {f.severity for f in found} == {Severity.ADVICE}


def with_offset(low: float, high: float) -> Profile:
    """The embedded contest, in which its private shard may score this far from the public one."""
    change = {"split": ["public_val", "private_val"], "max_tokens": [4096, 8192]}
    offset = AllowedOffset.model_validate({"name": "private", "change": change, "bpb": [low, high], "mean": 0.1})
    profile = load("embedded")
    evaluation = profile.evaluation.model_copy(update={"allowed_offsets": [offset]})
    return profile.model_copy(update={"evaluation": evaluation})


def test_an_offset_beyond_what_the_contest_has_seen_is_found() -> None:
    assert codes(judged(profile=with_offset(0.1, 0.15))) == []  # it is 0.125
    (found,) = judged(profile=with_offset(0.05, 0.1)).findings
    assert found.code == "SCR009"
    assert found.message == (
        "private: +0.125000 bpb from trusted, public settings to trusted, official settings, "
        "allowed +0.05 to +0.1, usual +0.1"
    )


@pytest.mark.parametrize("change", [{"num_bytes": 4 * 4096}, {"world_size": 2}, {"max_tokens": 4095}, {"split": "x"}])
def test_a_token_set_is_known_by_its_bytes(change: dict[str, object]) -> None:
    facts = load("trainium-frontier-phase1").facts
    assert facts is not None
    known = {"split": "public_val", "max_tokens": 4096, "world_size": 1, "num_bytes": 4 * 4096 + 1}

    def found(**fields: object) -> list[str]:
        prints = [Fingerprint.model_validate({**known, **fields})]
        update = {"facts": facts.model_copy(update={"fingerprints": prints})}
        return codes(judged(profile=load("embedded").model_copy(update=update)))

    assert found() == ["SCR010", "SCR010"]  # the judge's measurement, and the kit's own
    assert found(**change) == []


def test_other_versions_than_the_scoring_machines_are_told() -> None:
    def versions(**known: str) -> list[str]:
        machine = load("embedded").machine.model_copy(update={"versions": known})
        comparison = judged(profile=load("embedded").model_copy(update={"machine": machine}))
        assert comparison.verdict == "pass"
        return [f.message for f in comparison.findings if f.code == "ENV004"]

    assert versions(torch="2.13.0", neuronxcc="2.26.6360.0") == []  # what the run did not import is not compared
    assert versions(torch="2.11.0") == ["not the scoring machine's versions: torch 2.13.0 instead of 2.11.0"]


def test_parameters_that_do_not_fit_the_machine_are_found() -> None:
    def found(memory: int | None) -> list[str]:
        machine = load("embedded").machine.model_copy(update={"memory_bytes": memory})
        comparison = judged(profile=load("embedded").model_copy(update={"machine": machine}))
        return [f.message for f in comparison.findings if f.code == "ENV005"]

    needed = 2 * 3 * 64 * 4  # ranks, parameters, values and bytes
    assert found(None) == found(needed) == []
    assert found(needed - 1) == ["the parameters of 2 ranks need 1,536 bytes, the machine has 1,535"]
