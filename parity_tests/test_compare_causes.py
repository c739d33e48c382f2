"""Causes come first: knobs, environment, kernels and operators, each with its place in the recipe."""

from __future__ import annotations

from typing import Any

import pytest

from parity_tests.receipts_factory import KERNELS, RANKS, codes, judged, line_of, load, parity
from scorer.compare.kernels import planned_launches
from scorer.findings import Place, Severity
from scorer.room.receipts import Aside, Clock, Event, Lane, OperatorCall, Receipt, Site

Lanes = dict[Lane, Receipt]


def every(lanes: Lanes, *names: Lane) -> list[Receipt]:
    return [lanes[name] for name in names]


def test_a_clean_run_passes_without_a_finding() -> None:
    comparison = judged()
    assert codes(comparison) == []
    assert comparison.verdict == "pass"
    assert "6 updates on 2 ranks" in comparison.reason
    assert "the control" in comparison.reason


# --- Knobs ---


@pytest.mark.parametrize("knob", ["depth", "norm", "fused_attention", "lr"])
def test_a_knob_with_another_value_is_named_at_its_origin(knob: str) -> None:
    def change(lanes: Lanes) -> None:
        for rank in lanes[Lane.LOCAL].ranks:
            rank.knobs[knob] = not rank.knobs[knob] if isinstance(rank.knobs[knob], bool) else 7

    comparison = judged(change)
    line = 1 + list(parity()[Lane.LOCAL].ranks[0].knobs).index(knob)
    assert codes(comparison) == ["KNB001"]
    assert comparison.verdict == "fail"
    assert comparison.findings[0].place == Place(file="recipe/configs/small.yaml", line=line)
    assert knob in comparison.findings[0].message


def test_a_number_that_json_wrote_otherwise_is_the_same() -> None:
    def change(lanes: Lanes) -> None:
        for rank in lanes[Lane.LOCAL].ranks:
            rank.knobs["depth"] = 2.0

    assert judged(change).verdict == "pass"


def test_true_is_not_one() -> None:
    def change(lanes: Lanes) -> None:
        for rank in lanes[Lane.LOCAL].ranks:
            rank.knobs["fused_attention"] = 1

    assert codes(judged(change)) == ["KNB001"]


def test_an_argument_of_the_local_launch_explains_the_knob_that_it_sets() -> None:
    def change(lanes: Lanes) -> None:
        launch = lanes[Lane.LOCAL].launch
        assert launch is not None
        launch.program += ["--num-steps", "9"]
        for rank in lanes[Lane.LOCAL].ranks:
            rank.knobs["num_steps"] = 9

    comparison = judged(change)
    assert codes(comparison) == ["KNB002"]
    assert "--num-steps 9" in comparison.findings[0].message
    assert comparison.findings[0].place == Place(file="recipe/configs/small.yaml", line=5)


def test_without_a_manifest_the_launches_themselves_are_compared() -> None:
    def change(lanes: Lanes) -> None:
        launch = lanes[Lane.LOCAL].launch
        assert launch is not None
        launch.program = ["train.py", "--num-steps=9"]
        lanes[Lane.LOCAL].subject.kind = "file"

    comparison = judged(change, built=False)
    assert codes(comparison) == ["KNB002"]
    assert "--num-steps=9" in comparison.findings[0].message


def test_ranks_with_different_knobs_are_named() -> None:
    def change(lanes: Lanes) -> None:
        lanes[Lane.LOCAL].ranks[1].knobs["lr"] = 0.5

    assert "KNB003" in codes(judged(change))


# --- Environment ---


def test_a_flag_that_only_the_author_has_is_named_at_the_line_that_sets_it() -> None:
    def change(lanes: Lanes) -> None:
        for rank in lanes[Lane.LOCAL].ranks:
            rank.environment_start["NEURON_CC_FLAGS"] = rank.environment_end["NEURON_CC_FLAGS"] = "--optlevel=3"
            rank.events.append(
                Event(kind="read-environment", detail="NEURON_CC_FLAGS", site=Site(file="recipe/train.py", line=9))
            )
        for rank in lanes[Lane.ARTIFACT].ranks:
            del rank.environment_start["NEURON_CC_FLAGS"]
            rank.events.append(
                Event(kind="set-environment", detail="NEURON_CC_FLAGS", site=Site(file="train.py", line=11))
            )

    comparison = judged(change)
    assert codes(comparison) == ["ENV001"]
    found = comparison.findings[0]
    assert found.place == Place(file="recipe/train.py", line=111)
    assert found.artifact_line == 11
    assert "numerics" in found.message


def test_a_variable_that_matters_to_nobody_is_no_finding() -> None:
    def change(lanes: Lanes) -> None:
        for rank in lanes[Lane.LOCAL].ranks:
            rank.environment_start["EDITOR"] = rank.environment_end["EDITOR"] = "vi"

    assert judged(change).verdict == "pass"


def test_unless_the_program_reads_it() -> None:
    def change(lanes: Lanes) -> None:
        for rank in lanes[Lane.LOCAL].ranks:
            rank.environment_start["WARMUP"] = rank.environment_end["WARMUP"] = "3"
        for receipt in every(lanes, Lane.LOCAL, Lane.ARTIFACT):
            for rank in receipt.ranks:
                rank.events.append(Event(kind="read-environment", detail="WARMUP", site=Site(file="train.py", line=12)))

    comparison = judged(change)
    assert codes(comparison) == ["ENV002"]
    assert comparison.findings[0].place == Place(file="recipe/train.py", line=112)


def test_the_launchers_own_variables_may_differ() -> None:
    def change(lanes: Lanes) -> None:
        for rank in lanes[Lane.ARTIFACT].ranks:
            rank.environment_start["MASTER_PORT"] = rank.environment_end["MASTER_PORT"] = "29400"
            rank.events.append(
                Event(kind="read-environment", detail="MASTER_PORT", site=Site(file="train.py", line=12))
            )

    assert judged(change).verdict == "pass"


@pytest.mark.parametrize(
    ("field", "value"), [("python", "3.12.1"), ("neuron", "sdk"), ("devices", ["cpu"]), ("packages", {"torch": "2.11"})]
)
def test_other_software_is_a_finding(field: str, value: object) -> None:
    def change(lanes: Lanes) -> None:
        for rank in lanes[Lane.ARTIFACT].ranks:
            setattr(rank, field, value)

    assert codes(judged(change)) == ["ENV003"]


# --- Kernels ---


def test_a_kernel_that_never_ran_is_named_at_its_definition() -> None:
    def change(lanes: Lanes) -> None:
        for receipt in every(lanes, Lane.LOCAL, Lane.ARTIFACT):
            for rank in receipt.ranks:
                for update in rank.updates:
                    update.launches = [one for one in update.launches if one.kernel != "rms_norm_forward"]

    comparison = judged(change)
    assert codes(comparison) == ["KRN001"]
    assert comparison.findings[0].place == Place(file="recipe/kernels/rms_norm.py", line=50)


def test_one_launch_fewer_than_planned_is_found_although_the_lanes_agree() -> None:
    def change(lanes: Lanes) -> None:
        for receipt in every(lanes, Lane.LOCAL, Lane.ARTIFACT):
            for rank in receipt.ranks:
                rank.updates[4].launches[0].count -= 1

    comparison = judged(change)
    found = comparison.findings[0]
    assert codes(comparison) == ["KRN002"]
    assert (found.update, found.evidence["expected"], found.evidence["found"]) == (4, 5, 4)
    assert found.place == Place(file="recipe/kernels/rms_norm.py", line=51)


def test_launches_are_held_against_the_backward_passes_of_their_update_where_the_plan_knows_them() -> None:
    plan: dict[str, Any] = {"launches_per_update": 10, "launches_by_backward_passes": {"1": 5, "2": 10}}
    update = parity()[Lane.ARTIFACT].ranks[0].updates[0]
    of = {passes: update.model_copy(update={"losses": update.losses[:1] * passes}) for passes in (1, 2, 3)}
    assert {passes: planned_launches(plan, each) for passes, each in of.items()} == {1: 5, 2: 10, 3: 0}
    assert planned_launches({"launches_per_update": 10}, update) == 10


def test_lanes_whose_launches_differ_are_told_where_no_plan_says_more() -> None:
    def change(lanes: Lanes) -> None:
        for rank in lanes[Lane.ARTIFACT].ranks:
            rank.updates[0].launches[1].shapes = ["float32[64,32] float32[32]"]

    comparison = judged(change)
    assert codes(comparison) == ["KRN003"]
    assert "float32[64,32]" in comparison.findings[0].message


def test_without_a_manifest_the_lanes_are_compared() -> None:
    def change(lanes: Lanes) -> None:
        for rank in lanes[Lane.ARTIFACT].ranks:
            for update in rank.updates:
                update.launches.clear()

    comparison = judged(change, built=False)
    assert sorted(codes(comparison)) == ["KRN003"] * len(KERNELS)


def test_what_ran_instead_of_a_kernel_is_named_with_its_line() -> None:
    def change(lanes: Lanes) -> None:
        for rank in lanes[Lane.ARTIFACT].ranks:
            for update in rank.updates:
                update.launches = [launch for launch in update.launches if launch.kernel == "rms_norm_backward"]
            rank.census[0].count += 3
            rank.census.append(
                OperatorCall(
                    operator="aten::rsqrt",
                    signature="float32[64,1]",
                    count=5,
                    site=Site(file="train.py", line=9),
                    first=1,
                )
            )

    (found,) = (found for found in judged(change, built=False).findings if found.code == "KRN003")
    assert found.evidence["instead"] == [
        "aten::rsqrt(float32[64,1]) 5 times more at train.py:9",
        "aten::mm(bfloat16[64,32]) 3 times more at train.py:8",
    ]
    assert "0 times in the artifact's, update 0, rank 0; instead the artifact runs aten::rsqrt" in found.message

    def only_fewer(lanes: Lanes) -> None:
        for rank in lanes[Lane.ARTIFACT].ranks:
            rank.updates[0].launches.pop()

    assert "instead" not in judged(only_fewer, built=False).findings[0].message


def test_a_kernel_that_the_manifest_does_not_list_is_advice() -> None:
    def change(lanes: Lanes) -> None:
        for receipt in every(lanes, Lane.LOCAL, Lane.ARTIFACT):
            for rank in receipt.ranks:
                for update in rank.updates:
                    update.launches.append(update.launches[0].model_copy(update={"kernel": "extra", "count": 1}))

    comparison = judged(change)
    assert comparison.verdict == "pass"
    assert codes(comparison) == ["KRN004"]
    assert comparison.findings[0].severity is Severity.ADVICE


def test_a_kernel_of_the_forward_that_does_not_run_when_scored_is_advice() -> None:
    def change(lanes: Lanes) -> None:
        lanes[Lane.TRUSTED].scoring_launches = {}

    comparison = judged(change)
    assert comparison.verdict == "pass"
    assert codes(comparison) == ["KRN005"]
    assert comparison.findings[0].place == Place(file="recipe/kernels/rms_norm.py", line=50)
    assert "rms_norm_forward runs 5 times" in comparison.findings[0].message


def test_a_kernel_of_the_loss_need_not_run_when_scored() -> None:
    def change(lanes: Lanes) -> None:
        lanes[Lane.TRUSTED].scoring_launches = {}
        for receipt in every(lanes, Lane.LOCAL, Lane.ARTIFACT):
            for rank in receipt.ranks:
                for update in rank.updates:
                    for launch in update.launches:
                        launch.shapes = ["bfloat16[64,61] int32[64,1]"]

    assert codes(judged(change)) == []


# --- Operators ---


def test_a_program_that_differs_without_other_numbers_shows_in_its_operators() -> None:
    def change(lanes: Lanes) -> None:
        for rank in lanes[Lane.ARTIFACT].ranks:
            rank.census = [call for call in rank.census if "attention" not in call.operator]
            rank.census.append(
                OperatorCall(
                    operator="aten::softmax", signature="float32[8,8]", count=2, site=Site(file="train.py", line=9)
                )
            )

    comparison = judged(change)
    found = comparison.findings[0]
    assert codes(comparison) == ["OPS001"]
    assert found.place == Place(file="recipe/train.py", line=109)
    assert "aten::softmax" in found.message
    assert any("scaled_dot_product_attention" in text for text in found.evidence["changes"])


def test_an_operator_that_is_gone_is_named_where_the_recipe_has_it() -> None:
    def change(lanes: Lanes) -> None:
        for rank in lanes[Lane.ARTIFACT].ranks:
            rank.census.pop()

    assert judged(change).findings[0].place == Place(file="recipe/model.py", line=40)


def test_of_several_new_operators_the_one_that_runs_first_is_told() -> None:
    def change(lanes: Lanes) -> None:
        for rank in lanes[Lane.ARTIFACT].ranks:
            for first, (operator, line) in enumerate((("aten::softmax", 9), ("aten::add", 12)), 2):
                rank.census.append(
                    OperatorCall(
                        operator=operator,
                        signature="float32[8,8]",
                        count=1,
                        site=Site(file="train.py", line=line),
                        first=first,
                    )
                )

    found = judged(change).findings[0]
    assert found.place == Place(file="recipe/train.py", line=109)
    assert [text.split("(")[0] for text in found.evidence["changes"]] == ["aten::softmax", "aten::add"]
    assert "0 times locally, 1 in the artifact at recipe/train.py:109" in found.message


# --- Order ---


def test_the_cause_comes_before_its_symptoms() -> None:
    def change(lanes: Lanes) -> None:
        for rank in lanes[Lane.LOCAL].ranks:
            rank.knobs["fused_attention"] = False
            rank.environment_end["NEURON_CC_FLAGS"] = ""
        for rank in lanes[Lane.ARTIFACT].ranks:
            rank.census[1].count = 0
            for update in rank.updates:
                update.losses[0] = (9.0).hex()
                update.launches[0].count += 1

    comparison = judged(change)
    assert codes(comparison) == ["KNB001", "ENV001", "KRN002", "OPS001", "LCK003"]


def test_places_of_an_artifact_without_a_map_are_its_own_lines() -> None:
    def change(lanes: Lanes) -> None:
        for number in range(RANKS):
            for update in lanes[Lane.ARTIFACT].ranks[number].updates:
                update.losses[0] = (9.0).hex()

    found = judged(change, built=False).findings[0]
    assert found.place == Place(file="train.py", line=line_of(".backward()"))


def test_the_profile_weighs_findings() -> None:
    def change(lanes: Lanes) -> None:
        for rank in lanes[Lane.ARTIFACT].ranks:
            rank.census.pop()

    profile = load("embedded")
    lowered = judged(change, profile=profile.model_copy(update={"rules": {"OPS001": "advice"}}))
    dropped = judged(change, profile=profile.model_copy(update={"rules": {"OPS001": "off"}}))
    assert (lowered.verdict, codes(lowered)) == ("pass", ["OPS001"])
    assert (dropped.verdict, codes(dropped)) == ("pass", [])
    assert judged(change).verdict == "fail"


# --- Files ---


def saved(lane: Receipt, detail: str, kind: str = "save") -> None:
    for rank in lane.ranks:
        rank.events.append(Event(kind=kind, detail=detail, site=rank.events[0].site))


@pytest.mark.parametrize(
    ("lane", "kind", "words"),
    [
        (Lane.ARTIFACT, "save", "the artifact's run saves out/half.pt, the local run does not"),
        (Lane.LOCAL, "save", "the local run saves out/half.pt, the artifact's run does not"),
        (Lane.LOCAL, "read", "the local run reads out/half.pt, the artifact's run does not"),
    ],
)
def test_a_file_that_one_program_uses_alone_is_named(lane: Lane, kind: str, words: str) -> None:
    comparison = judged(lambda lanes: saved(lanes[lane], "out/half.pt", kind))
    assert codes(comparison) == ["LCK011"]
    assert comparison.verdict == "pass"
    assert words in comparison.findings[0].message
    assert (
        comparison.findings[0].place == Place(file="recipe/checkpoint.py", line=30)
        or comparison.findings[0].artifact_line == 15
    )


def test_files_that_both_use_or_that_lie_elsewhere_are_fine() -> None:
    def change(lanes: Lanes) -> None:
        for lane in (Lane.LOCAL, Lane.ARTIFACT):
            saved(lanes[lane], "out/half.pt")
            saved(lanes[lane], f"/tmp/{lane.value}-x7gk2.pt")  # a name of its own in each run

    assert codes(judged(change)) == []


def test_a_save_that_only_one_program_makes_is_named() -> None:
    def change(lanes: Lanes, early: tuple[Lane, ...]) -> None:
        for lane in (Lane.LOCAL, Lane.ARTIFACT):
            lanes[lane].clock = Clock(kind="virtual", seconds_per_update=0.5)
            for rank in lanes[lane].ranks:
                rank.asides = [Aside(what="save", update=at, seconds=0.1) for at in ((4,) if lane in early else ())]
                rank.asides.append(Aside(what="save", update=6, seconds=0.1))

    assert codes(judged(lambda lanes: change(lanes, (Lane.LOCAL, Lane.ARTIFACT)))) == []
    comparison = judged(lambda lanes: change(lanes, (Lane.LOCAL,)))
    assert codes(comparison) == ["LCK011"]
    message = "the local run saves before update 4, 6, the artifact's before update 6"
    assert comparison.findings[0].message == message
    assert comparison.findings[0].place == Place(file="recipe/checkpoint.py", line=30)
