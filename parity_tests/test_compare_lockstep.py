"""Lockstep names the first difference, whatever it is, and says nothing about runs that are the same."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parity_tests.receipts_factory import PARAMETERS, RANKS, UPDATES, WINDOW, codes, judged, line_of, parity
from scorer.compare.lockstep import STAGES, first_difference
from scorer.findings import Place
from scorer.room.receipts import Lane, Receipt

Lanes = dict[Lane, Receipt]


def put(receipt: Receipt, rank: int, update: int, stage: str, item: str) -> None:
    """Change one recorded value."""
    values: Any = getattr(receipt.ranks[rank].updates[update], stage)
    if isinstance(values, dict):
        values[item] = "f" * 32
    else:
        values[int(item)] = float(update + 77).hex() if stage == "losses" else "f" * 32


def make(receipt: Receipt, updates: int) -> None:
    """Leave so many updates of a run, and say so in its checkpoint."""
    for rank in receipt.ranks:
        del rank.updates[updates:]
    if receipt.checkpoint is not None:
        receipt.checkpoint.meta["step"] = updates


@st.composite
def changes(draw: st.DrawFn) -> tuple[int, int, str, str]:
    """(rank, update, stage, item) of any one recorded value."""
    stage = draw(st.sampled_from(list(STAGES)))
    last = UPDATES if stage == "losses" else WINDOW
    items = {"losses": ["0", "1"], "batch_hashes": ["0"]}.get(stage, PARAMETERS)
    return (
        draw(st.integers(0, RANKS - 1)),
        draw(st.integers(0, last - 1)),
        stage,
        draw(st.sampled_from(items)),
    )


def test_equal_runs_have_no_difference() -> None:
    lanes = parity()
    assert first_difference(lanes[Lane.LOCAL], lanes[Lane.ARTIFACT]) is None


@settings(deadline=None, max_examples=50)
@given(changes())
def test_any_single_change_is_found_and_named(change: tuple[int, int, str, str]) -> None:
    rank, update, stage, item = change
    lanes = parity()
    put(lanes[Lane.ARTIFACT], rank, update, stage, item)
    found = first_difference(lanes[Lane.LOCAL], lanes[Lane.ARTIFACT])
    assert found is not None
    assert (found.rank, found.update, found.stage, found.item, found.others) == (rank, update, stage, item, 0)


@settings(deadline=None, max_examples=50)
@given(changes(), changes())
def test_of_two_changes_the_earlier_update_and_stage_is_named(
    one: tuple[int, int, str, str], two: tuple[int, int, str, str]
) -> None:
    lanes = parity()
    for change in (one, two):
        put(lanes[Lane.ARTIFACT], *change)
    found = first_difference(lanes[Lane.LOCAL], lanes[Lane.ARTIFACT])
    stages = list(STAGES)
    first = min((update, stages.index(stage), rank) for rank, update, stage, _ in (one, two))
    assert found is not None
    assert (found.update, stages.index(found.stage), found.rank) == first


@pytest.mark.parametrize(
    ("stage", "item", "code", "text"),
    [
        ("batch_hashes", "0", "LCK002", "make_dataloader(None"),
        ("losses", "1", "LCK003", ".backward()"),
        ("gradient_hashes", "blocks.0.qkv.weight", "LCK004", "self.qkv ="),
        ("parameter_hashes", "head.weight", "LCK005", "optimizer.step()"),
    ],
)
def test_each_stage_has_its_code_and_a_place_in_the_recipe(stage: str, item: str, code: str, text: str) -> None:
    def change(lanes: Lanes) -> None:
        for rank in range(RANKS):  # on every rank, or the ranks would disagree with each other
            put(lanes[Lane.ARTIFACT], rank, 2, stage, item)

    comparison = judged(change)
    first = comparison.findings[0]
    assert comparison.verdict == "fail"
    assert (first.code, first.update) == (code, 2)
    assert first.place == Place(file="recipe/train.py", line=100 + line_of(text))
    assert item in first.message


def test_a_parameter_that_only_one_lane_has_is_named() -> None:
    def change(lanes: Lanes) -> None:
        for rank in lanes[Lane.ARTIFACT].ranks:
            rank.parameters.pop(1)

    first = judged(change).findings[0]
    assert first.code == "LCK001"
    assert "embed.weight" in first.message
    assert "absent" in first.message


def test_another_dtype_is_another_parameter() -> None:
    def change(lanes: Lanes) -> None:
        lanes[Lane.ARTIFACT].ranks[0].parameters[0].dtype = "bfloat16"

    first = judged(change).findings[0]
    assert first.code == "LCK001"
    assert "bfloat16[8,8]" in first.message


def test_ranks_that_part_are_named_although_both_lanes_agree() -> None:
    def change(lanes: Lanes) -> None:
        for lane in (Lane.LOCAL, Lane.ARTIFACT):
            put(lanes[lane], 1, 3, "parameter_hashes", "head.weight")

    comparison = judged(change)
    assert codes(comparison) == ["LCK007", "LCK007"]
    assert {finding.lane for finding in comparison.findings} == {"local", "artifact"}
    assert comparison.findings[0].rank == 1
    assert comparison.findings[0].update == 3


def test_the_number_of_updates_is_compared() -> None:
    def change(lanes: Lanes) -> None:
        make(lanes[Lane.ARTIFACT], 5)

    comparison = judged(change)
    assert codes(comparison) == ["LCK006"]
    assert "6 updates, the artifact's 5" in comparison.findings[0].message


@pytest.mark.parametrize("field", ["tensors", "tensor_hashes"])
def test_checkpoints_are_compared_tensor_by_tensor(field: str) -> None:
    def change(lanes: Lanes) -> None:
        checkpoint = lanes[Lane.ARTIFACT].checkpoint
        assert checkpoint is not None
        getattr(checkpoint, field)["head.weight"] = "bfloat16[8,8]"

    first = judged(change).findings[0]
    assert first.code == "LCK008"
    assert "head.weight" in first.message
    assert first.place == Place(file="recipe/train.py", line=100 + line_of("torch.save"))


@pytest.mark.parametrize("stage", ["gradient_hashes", "parameter_hashes", "losses"])
def test_a_window_that_was_not_seen_is_no_evidence(stage: str) -> None:
    def change(lanes: Lanes) -> None:
        for receipt in lanes.values():
            for rank in receipt.ranks:
                for update in rank.updates:
                    getattr(update, stage).clear()

    comparison = judged(change)
    assert comparison.verdict == "inconclusive"
    assert "LCK009" in codes(comparison)


def test_a_run_shorter_than_the_window_is_seen_whole() -> None:
    def change(lanes: Lanes) -> None:
        for lane in (Lane.LOCAL, Lane.ARTIFACT, Lane.CONTROL):
            make(lanes[lane], 2)

    assert judged(change).verdict == "pass"


def test_a_run_without_updates_proves_nothing() -> None:
    def change(lanes: Lanes) -> None:
        for lane in (Lane.LOCAL, Lane.ARTIFACT, Lane.CONTROL):
            make(lanes[lane], 0)

    assert judged(change).verdict == "inconclusive"
