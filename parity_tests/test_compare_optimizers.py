"""Who updates which parameter, and how: every difference is named, equal plans raise nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from parity_tests.receipts_factory import codes, digest, judged, line_of
from scorer.findings import Place
from scorer.room.receipts import Lane, Optimized, Optimizer, Rank, Receipt, Site

Lanes = dict[Lane, Receipt]


def artifact_ranks(change: Callable[[Rank], object]) -> Callable[[Lanes], None]:
    """A change to every rank of the artifact lane."""

    def apply(lanes: Lanes) -> None:
        for rank in lanes[Lane.ARTIFACT].ranks:
            change(rank)

    return apply


def both_lanes(change: Callable[[Rank], object]) -> Callable[[Lanes], None]:
    """A change to every rank of local and artifact lane: the recipe's own fault."""

    def apply(lanes: Lanes) -> None:
        for lane in (Lane.LOCAL, Lane.ARTIFACT):
            for rank in lanes[lane].ranks:
                change(rank)

    return apply


def test_equal_plans_raise_nothing() -> None:
    assert codes(judged()) == []


def test_another_algorithm_names_the_parameter_and_where_the_optimizer_is_made() -> None:
    def change(rank: Rank) -> None:
        rank.optimizers[0].algorithm = "torch.optim.sgd.AdamW"
        rank.optimizers[0].site = None

    first = judged(artifact_ranks(change)).findings[0]
    assert first.code == "OPT001"
    assert "blocks.0.qkv.weight" in first.message
    assert "torch.optim.sgd.AdamW (group 0)" in first.message
    assert first.place == Place(file="recipe/train.py", line=100 + line_of("AdamW("))


def test_another_group_or_owner_is_another_way() -> None:
    def group(rank: Rank) -> None:
        rank.optimizers[0].parameters[2].group = 1

    def owner(rank: Rank) -> None:
        rank.optimizers[0].parameters[1].stepped = rank.rank == 0

    assert "head.weight" in judged(artifact_ranks(group)).findings[0].message
    found = judged(artifact_ranks(owner)).findings[0]
    assert (found.code, found.rank) == ("OPT001", 0)
    assert "stepped by AdamW (group 0) in the artifact's" in found.message


def test_a_parameter_that_only_the_artifact_leaves_out_has_its_group_s_line() -> None:
    def leave_out(rank: Rank) -> None:
        (dropped,) = (one for one in rank.optimizers[0].parameters if one.name == "head.weight")
        rank.optimizers[0].parameters.remove(dropped)

    found = judged(artifact_ranks(leave_out)).findings[0]
    assert (found.code, found.place) == ("OPT001", Place(file="recipe/train.py", line=100 + line_of('{"params"')))
    assert found.message.endswith("held by no optimizer in the artifact's")


def test_a_class_that_the_builder_renamed_is_the_same_class() -> None:
    def rename(rank: Rank) -> None:
        rank.optimizers[0].name = rank.optimizers[0].algorithm = "AdamW_2"
        for update in rank.updates:
            if update.groups:
                update.groups["AdamW_2.0"] = update.groups.pop("AdamW.0")

    def change(lanes: Lanes) -> None:
        artifact_ranks(rename)(lanes)
        for rank in lanes[Lane.LOCAL].ranks:
            rank.optimizers[0].site = Site(file="recipe/train.py", line=113)

    assert codes(judged(change)) == []
    assert codes(judged(artifact_ranks(rename))) == ["OPT001"]


@pytest.mark.parametrize(
    ("update", "name", "value", "code", "text"),
    [
        (0, "lr", 0.25, "OPT002", '"lr": 0.5'),
        (2, "lr", 0.25, "OPT003", '"lr": 0.5'),
        (3, "weight_decay", 0.1, "OPT003", '["weight_decay"] ='),
    ],
)
def test_a_value_names_its_group_its_update_and_its_line(
    update: int, name: str, value: float, code: str, text: str
) -> None:
    def change(rank: Rank) -> None:
        rank.updates[update].groups["AdamW.0"][name] = value.hex()

    found = judged(artifact_ranks(change)).findings[0]
    assert (found.code, found.update) == (code, update)
    assert f"{name} of group 0 of AdamW" in found.message
    assert repr(value) in found.message
    assert found.place == Place(file="recipe/train.py", line=100 + line_of(text))


def test_a_parameter_that_stays_as_it_was_is_named() -> None:
    def still(rank: Rank) -> None:
        for update in rank.updates:
            if update.parameter_hashes:
                update.parameter_hashes["embed.weight"] = digest("parameter", "embed.weight", "initial")

    comparison = judged(both_lanes(still))
    assert codes(comparison) == ["OPT006"]
    assert "parameter embed.weight did not change in 4 updates" in comparison.findings[0].message

    def unheld(rank: Rank) -> None:
        still(rank)
        rank.optimizers[0].parameters.pop(1)

    assert codes(judged(both_lanes(unheld))) == ["OPT004"]

    def frozen(rank: Rank) -> None:
        still(rank)
        rank.parameters[1].trainable = False

    comparison = judged(both_lanes(frozen))
    assert codes(comparison) == []
    (row,) = [row for row in comparison.rows if row.label == "parameters"]
    assert row.artifact == "3 stepped by AdamW, 1 frozen: embed.weight"


def test_a_parameter_that_two_optimizers_step_is_named_and_one_inside_a_wrapper_is_not() -> None:
    def add(stepped: bool) -> Any:
        def change(rank: Rank) -> None:
            held = [Optimized(name="blocks.0.qkv.weight", group=0, stepped=stepped and rank.rank == 0)]
            rank.optimizers.append(Optimizer(name="Lion", algorithm="Lion", site=None, parameters=held))

        return both_lanes(change)

    assert codes(judged(add(stepped=True))) == ["OPT005"]
    assert codes(judged(add(stepped=False))) == []


def test_a_parameter_that_two_ranks_own_is_told_only_where_the_others_have_one_owner() -> None:
    def one(rank: Rank) -> None:
        rank.optimizers[0].parameters[0].stepped = True

    def every(rank: Rank) -> None:
        for parameter in rank.optimizers[0].parameters:
            parameter.stepped = True

    found = judged(both_lanes(one)).findings
    assert [(each.code, each.evidence["owners"]) for each in found] == [("OPT007", [0, 1])]
    assert codes(judged(both_lanes(every))) == []
