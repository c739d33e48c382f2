"""What the comparison makes of a run's time: first uses in the charged part, slow updates, the program's own count."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from parity_tests.receipts_factory import UPDATES, judged, line_of
from scorer.compare import Comparison
from scorer.findings import Finding, Place, Severity
from scorer.room.receipts import Aside, Clock, FirstUse, Lane, Receipt, Site, TimeSplit

Change = Callable[[dict[Lane, Receipt]], None]


def uses(*found: tuple[str, str, str, int], rank: int = 1, lane: Lane = Lane.ARTIFACT) -> Change:
    """(what, name, signature, update) of first uses in one rank."""

    def change(lanes: dict[Lane, Receipt]) -> None:
        site = Site(file="train.py", line=8)
        lanes[lane].ranks[rank].first_uses = [
            FirstUse.model_validate(
                {"what": what, "name": name, "signature": signature, "update": update, "site": site, "callers": [site]}
            )
            for what, name, signature, update in found
        ]

    return change


def of(comparison: Comparison, code: str) -> list[Finding]:
    return [found for found in comparison.findings if found.code == code]


def draws(*batches: int) -> Change:
    """How many batches rank 1 of the artifact's lane draws for each update."""

    def change(lanes: dict[Lane, Receipt]) -> None:
        uses(("batch", "batch", "int32[2,8]", 0))(lanes)
        for update, count in zip(lanes[Lane.ARTIFACT].ranks[1].updates, batches, strict=False):
            update.batch_hashes = [f"{update.update}-{number}" for number in range(count)]

    return change


def test_training_data_used_before_the_first_update_is_counted_with_the_line_that_draws_it() -> None:
    (found,) = of(judged(draws(42, 2, 2, 2)), "RUN036")
    assert found.message == (
        "42 batches are drawn for the first update, 2 for each later one: 40 are used before the clock starts"
    )
    assert (found.rank, found.update, found.place) == (1, 0, Place(file="recipe/train.py", line=108))
    assert found.severity is Severity.ADVICE
    assert of(judged(draws(4, 2, 2, 2)), "RUN036") == [], "an update's batches may be held ready"
    assert of(judged(draws(2, 2, 2, 2)), "RUN036") == []


KNOWN = ("kernel", "norm", "float32[8]", 0)


def test_a_first_use_after_the_start_up_is_named_with_kernel_signature_update_and_line() -> None:
    comparison = judged(uses(KNOWN, ("batch", "batch", "int32[2,8]", 5), ("kernel", "norm", "float32[16]", 5)))
    (found,) = of(comparison, "RUN033")
    assert found.message == (
        "kernel norm with (float32[16]) is first used in update 5, with 1 more: it is compiled again, for other "
        "arguments, after the 5 updates of the start-up, within the charged time"
    )
    assert (found.update, found.rank, found.place) == (5, 1, Place(file="recipe/train.py", line=108))
    assert found.evidence["first used"] == ["a batch of int32[2,8]", "kernel norm with (float32[16])"]
    assert found.evidence["called from"] == ["recipe/train.py:108"]
    assert comparison.verdict == "pass"
    assert found.severity is Severity.ADVICE


def test_first_uses_within_the_start_up_and_in_other_lanes_are_no_finding() -> None:
    assert of(judged(uses(KNOWN, ("kernel", "norm", "float32[16]", 4))), "RUN033") == []
    assert of(judged(uses(KNOWN, ("kernel", "norm", "float32[16]", 5), lane=Lane.LOCAL)), "RUN033") == []


def test_a_kernel_that_takes_another_number_each_time_is_one_finding() -> None:
    (found,) = of(judged(uses(*(("kernel", "step", f"float32[8] {at}", at) for at in range(UPDATES + 1)))), "RUN033")
    assert found.message.startswith("kernel step with (float32[8] 5) is first used in update 5: it is compiled again")
    assert found.message.endswith("; and anew in 1 later ones")
    assert found.evidence["updates"] == [5, 6]


def test_what_is_first_used_after_the_last_update_is_charged_too() -> None:
    (found,) = of(judged(uses(KNOWN, ("graph", "0/1 (dynamo)", "", UPDATES))), "RUN033")
    assert found.message.startswith("graph 0/1 (dynamo) of torch.compile is first used after the last update: it is")


def paced(*seconds: float, kind: str = "real") -> Change:
    """The artifact's run on a clock, its updates of these lengths after the five excluded ones, which are long."""

    def change(lanes: dict[Lane, Receipt]) -> None:
        run = lanes[Lane.ARTIFACT]
        run.clock = Clock(kind=kind, seconds_per_update=None if kind == "real" else 0.5)
        for rank in run.ranks:
            last = rank.updates[-1]
            lengths = [9.0] * 5 + list(seconds)
            rank.updates = [
                (rank.updates[number] if number < UPDATES else last).model_copy(
                    update={"update": number, "seconds": length}
                )
                for number, length in enumerate(lengths)
            ]

    return change


def test_an_update_over_three_times_the_median_is_named_with_what_was_in_it() -> None:
    def change(lanes: dict[Lane, Receipt]) -> None:
        paced(*[0.5] * 9, 1.75, 2.0)(lanes)
        run = lanes[Lane.ARTIFACT]
        run.ranks[0].asides = [Aside(what="evaluation", update=15, seconds=1.25)]
        uses(("kernel", "norm", "float32[16]", 15), rank=0)(lanes)

    (found,) = of(judged(change), "RUN034")
    assert found.message == (
        "update 15 took 2.00 s, where the median of 11 charged updates is 0.50 s: evaluation of 1.25 s, first use of "
        "kernel norm with (float32[16]); 1 others took more than 3 times that"
    )
    assert found.evidence["slow"][1] == "update 14: 1.75 s, nothing that the observer saw"
    assert found.severity is Severity.ADVICE
    assert (found.update, found.place) == (15, Place(file="recipe/train.py", line=108))


@pytest.mark.parametrize(
    "change",
    [
        paced(*[0.5] * 10, 1.5),  # three times, and no more
        paced(*[0.5] * 6, 5.0),  # too few for a median
        paced(*[0.5] * 10, 5.0, kind="virtual"),
    ],
)
def test_even_updates_few_updates_and_a_virtual_clock_say_nothing_of_the_pace(change: Change) -> None:
    assert of(judged(change), "RUN034") == []


def saved_at(step: object, lane: Lane = Lane.ARTIFACT) -> Change:
    def change(lanes: dict[Lane, Receipt]) -> None:
        checkpoint = lanes[lane].checkpoint
        assert checkpoint is not None
        checkpoint.meta = {"step": step}

    return change


@pytest.mark.parametrize("lane", [Lane.ARTIFACT, Lane.LOCAL])
def test_a_checkpoint_of_another_step_than_the_last_one_is_found(lane: Lane) -> None:
    comparison = judged(saved_at(2, lane))
    (found,) = of(comparison, "CKP006")
    assert found.message == "out/final.pt says step 2, and the run made 6 updates"
    assert found.place == Place(file="recipe/train.py", line=100 + line_of("torch.save"))
    assert comparison.verdict == "fail"


@pytest.mark.parametrize("step", [UPDATES, UPDATES - 1, "six", None])
def test_the_number_of_updates_and_the_last_one_s_number_are_both_its_step(step: object) -> None:
    assert of(judged(saved_at(step)), "CKP006") == []


def counted(printed: str, over: str = "False", **split: float) -> Change:
    """The artifact prints its count; with a split of its time, on the real clock."""

    def change(lanes: dict[Lane, Receipt]) -> None:
        run = lanes[Lane.ARTIFACT]
        run.summary = {"charged_seconds_est": printed, "over_budget": over}
        if split:
            run.clock = Clock(kind="real")
            parts = {"save": 3.0, "exit": split["tail"] - 3.0}
            run.time = TimeSplit(**split, total=sum(split.values()), parts=parts)

    return change


@pytest.mark.parametrize(
    ("printed", "told"),
    [
        ("0.5", None),  # one charged update of half a second
        ("0.0", None),  # which it may not have counted yet
        ("2.5 s", None),  # a margin as large as the reserve
        ("3.0", "the program counts 3.00 s as charged, the contest's clock 0.50 s: 2.50 s too many, which is what the "
                "start-up took"),
        ("-", None),  # no number: nothing to compare
    ],
)  # fmt: skip
def test_the_program_s_count_is_held_against_the_updates_made(printed: str, told: str | None) -> None:
    assert [found.message for found in of(judged(counted(printed)), "RUN035")] == ([told] if told else [])


@pytest.mark.parametrize(
    ("printed", "over", "told"),
    [
        ("53", "False", None),  # 45 s of training, 4 beyond the allowance, a save of 3, and 1 to the end
        ("50", "False", None),  # within the end that it cannot see, and the reserve
        ("46", "False", "7.00 s too few, which is what the start-up beyond the allowance and the save took"),
        ("80", "False", None),  # a margin for the start-up that it did not see
    ],
)
def test_on_the_real_clock_the_end_that_a_program_cannot_see_is_its_own(
    printed: str, over: str, told: str | None
) -> None:
    found = of(judged(counted(printed, over, start_up=34.0, train=45.0, tail=4.0)), "RUN035")
    assert [one.message.partition(" s: ")[2] for one in found] == ([told] if told else [])


def test_a_run_over_the_budget_that_says_it_is_within_is_found() -> None:
    (found,) = of(judged(counted("64", start_up=20.0, train=61.0, tail=4.0)), "RUN035")
    assert found.message.endswith("over_budget says false, and the budget is 60 s")
    assert of(judged(counted("64", "True", start_up=20.0, train=61.0, tail=4.0)), "RUN035") == []


@pytest.mark.parametrize(
    ("said", "is_true"),
    [("3.0", True), ("1.0", True), ("4.9", True), ("5.1", False), ("3000.0", False), ("-2.0", False), ("", True)],
)
@pytest.mark.parametrize("is_kept", [False, True])
def test_the_training_time_told_lies_between_the_charged_updates_and_the_whole_run(
    said: str, is_true: bool, is_kept: bool
) -> None:
    """Six updates of half a second, five of them start-up, and a reserve of two seconds."""

    def change(lanes: dict[Lane, Receipt]) -> None:
        run = lanes[Lane.ARTIFACT]
        if not is_kept:
            run.summary = {"training_seconds": said}
        elif run.checkpoint is not None and said:
            run.checkpoint.meta["training_seconds"] = float(said)

    comparison = judged(change)
    assert (of(comparison, "RUN037") == []) is is_true
    assert comparison.verdict == "pass"
    if not is_true:
        where = "keeps in the checkpoint" if is_kept else "prints"
        assert f"the program {where} training_seconds {float(said):.2f}" in of(comparison, "RUN037")[0].message


def test_on_the_real_clock_the_updates_alone_are_a_training_time() -> None:
    def change(lanes: dict[Lane, Receipt]) -> None:
        counted("45", start_up=20.0, train=45.0, tail=4.0)(lanes)
        lanes[Lane.ARTIFACT].summary["training_seconds"] = said

    for said, is_true in (("45.0", True), ("69", True), ("42.5", False), ("72.0", False)):
        assert (of(judged(change), "RUN037") == []) is is_true, said
