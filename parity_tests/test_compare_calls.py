"""The first call in which two runs part is named with its line, and what the programs print is compared."""

from __future__ import annotations

import pytest

from parity_tests.receipts_factory import artifact, codes, judged, line_of, load, parity
from scorer.compare.calls import parting
from scorer.compare.case import Case
from scorer.findings import Place, Severity
from scorer.room.receipts import CallKind, Calls, Lane, OperatorCall, Receipt, Site

Lanes = dict[Lane, Receipt]
OPERATORS = ("aten::mm", "aten::silu", "aten::view")
FORWARD, STEP = line_of("model(inputs, targets)"), line_of("optimizer.step()")


def followed(lanes: Lanes, update: int, local: list[str], theirs: list[str]) -> None:
    """Give both lanes calls of one update: "0 aa" is a product on line 40, or on FORWARD in the artifact."""
    for lane, calls in ((Lane.LOCAL, local), (Lane.ARTIFACT, theirs)):
        for rank in lanes[lane].ranks:
            file, first = ("recipe/model.py", 40) if lane is Lane.LOCAL else ("train.py", FORWARD)
            kinds = [
                CallKind(operator=name, signature="float32[8]", site=Site(file=file, line=first + number))
                for number, name in enumerate(OPERATORS)
            ]
            rank.calls.append(Calls(update=update, kinds=kinds, calls=calls))


def place(line: int) -> Place:
    """Where a line of the artifact comes from."""
    return Place(file="recipe/train.py", line=100 + line)


@pytest.mark.parametrize(
    ("local", "theirs", "operator", "same_call", "expected"),
    [
        (["0 aa", "1 bb"], ["0 aa", "1 cc"], "aten::silu", True, place(FORWARD + 1)),
        (["0 aa"], ["0 aa", "1 cc"], "aten::silu", False, place(FORWARD + 1)),
        (["0 aa", "1 bb", "2"], ["0 aa", "2"], "aten::silu", False, Place(file="recipe/model.py", line=41)),
        (["0 aa", "2"], ["0 aa", "1 bb", "2"], "aten::silu", False, place(FORWARD + 1)),
    ],
)
def test_where_runs_part(local: list[str], theirs: list[str], operator: str, same_call: bool, expected: Place) -> None:
    lanes = parity()
    followed(lanes, 0, ["0 aa"], ["0 aa"])
    followed(lanes, 1, local, theirs)
    case = Case(artifact(), lanes, load("embedded"))
    found = parting(case, lanes[Lane.LOCAL], lanes[Lane.ARTIFACT], 3, values=True)
    assert found is not None
    assert (found.update, found.operator, found.same_call, found.place) == (1, operator, same_call, expected)
    assert parting(case, lanes[Lane.LOCAL], lanes[Lane.ARTIFACT], 0, values=True) is None
    alone = parting(case, lanes[Lane.LOCAL], lanes[Lane.ARTIFACT], 3, values=False)
    assert (alone is None) == same_call


def test_a_loss_that_parts_is_told_at_the_call_that_computes_another_value() -> None:
    def change(lanes: Lanes, theirs: str = "1 cc") -> None:
        followed(lanes, 0, ["0 aa", "1 bb"], ["0 aa", theirs])
        for rank in lanes[Lane.ARTIFACT].ranks:
            rank.updates[0].losses[0] = (77.0).hex()

    comparison = judged(change)
    assert codes(comparison) == ["LCK003"]
    found = comparison.findings[0]
    assert (found.place, found.artifact_line) == (place(FORWARD + 1), FORWARD + 1)
    assert "the first call in which they part: aten::silu(float32[8])" in found.message
    unknown = judged(lambda lanes: change(lanes, "1 bb")).findings[0]
    assert unknown.place == place(line_of("backward()"))
    assert "part:" not in unknown.message


def test_values_that_nobody_reads_are_no_finding() -> None:
    comparison = judged(lambda lanes: followed(lanes, 0, ["0 aa", "1 bb"], ["0 aa", "1 cc"]))
    assert (comparison.verdict, codes(comparison)) == ("pass", [])


def test_the_same_operators_in_another_order_are_advice() -> None:
    comparison = judged(lambda lanes: followed(lanes, 1, ["0 aa", "1 bb", "2"], ["1 bb", "0 aa", "2"]))
    assert (comparison.verdict, codes(comparison)) == ("pass", ["OPS002"])
    assert comparison.findings[0].place == place(FORWARD + 1)


def test_an_operator_that_is_called_once_less_is_told_where_that_is() -> None:
    """The census knows the line of each row's first call only."""

    def change(lanes: Lanes) -> None:
        followed(lanes, 1, ["1 bb", "0 aa"], ["1 bb", "1 bb", "0 aa"])
        for lane, count in ((Lane.LOCAL, 1), (Lane.ARTIFACT, 2)):
            for rank in lanes[lane].ranks:
                site = Site(file="train.py", line=STEP)
                row = OperatorCall(operator="aten::silu", signature="float32[8]", count=count, site=site)
                rank.census.append(row)

    found = judged(change).findings[0]
    assert (found.code, found.place) == ("OPS001", place(FORWARD + 1))


def test_what_the_programs_print_must_agree() -> None:
    def printed(lanes: Lanes, key: str = "lr", value: str = "0.5") -> None:
        for lane in (Lane.LOCAL, Lane.ARTIFACT):
            lanes[lane].log_steps = [{"step": "00000", "lr": "0.5"}]
            lanes[lane].summary |= {"num_steps": "6"}
        if key == "lr":
            lanes[Lane.LOCAL].log_steps[0]["lr"] = value
        else:
            lanes[Lane.LOCAL].summary[key] = value

    assert codes(judged(printed)) == []
    assert codes(judged(lambda lanes: printed(lanes, "eval_note", "more"))) == []  # the recipe's own runner says more
    comparison = judged(lambda lanes: printed(lanes, value="0.25"))
    assert codes(comparison) == ["LCK010"]
    found = comparison.findings[0]
    assert found.severity is Severity.ADVICE
    assert (found.place, found.evidence["key"]) == (place(line_of('"lr"')), "lr")
    assert codes(judged(lambda lanes: printed(lanes, "num_steps", "7"))) == ["LCK010"]


def test_on_the_real_clock_what_is_printed_is_not_compared() -> None:
    def change(lanes: Lanes) -> None:
        for lane in lanes:
            if lanes[lane].clock is not None:
                lanes[lane].clock.kind = "real"  # type: ignore[union-attr]
        lanes[Lane.LOCAL].log_steps, lanes[Lane.ARTIFACT].log_steps = [{"dt": "1"}], [{"dt": "2"}]

    assert "LCK010" not in codes(judged(change))
