"""What the comparison makes of a run's time: first uses in the charged part, slow updates, the program's own count."""

from __future__ import annotations

from collections.abc import Callable

from parity_tests.receipts_factory import UPDATES, judged
from scorer.compare import Comparison
from scorer.findings import Finding, Place, Severity
from scorer.room.receipts import FirstUse, Lane, Receipt, Site

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
