"""The page of a trial: everything that trial.json says, for a person, with a picture where there is one."""

from __future__ import annotations

import pytest

from parity_tests import report_sample as sample
from scorer.compare.trials.result import Bar, Limit, Picture
from scorer.report.html import trial_page
from scorer.report.sections.trial import bars


def test_the_page_says_what_the_document_says() -> None:
    trial = sample.sample_trial()
    page = trial_page(trial)
    assert page == trial_page(trial)
    for said in (
        *trial.facts,
        *trial.facts.values(),
        *trial.columns,
        "RUN014",
        "Charged seconds",
        "the budget, 60.0 s",
    ):
        assert said in page
    assert "stall <b>" not in page
    assert page.count("stall &lt;b&gt;") == 2
    assert "<script" not in page


def test_without_a_picture_or_findings_the_page_has_neither() -> None:
    page = trial_page(sample.sample_trial().model_copy(update={"picture": None, "findings": [], "verdict": "pass"}))
    assert "Charged seconds" not in page
    assert "No finding" in page


def test_bars_start_at_zero_and_hold_their_limits_and_intervals() -> None:
    picture = Picture(
        title="t",
        unit="%",
        form="+.1f",
        bars=[Bar(label="slower", value=4.0), Bar(label="faster", value=-1.0, low=-2.0, high=0.5)],
        limits=[Limit(name="limit", value=3.0)],
    )
    slower, faster = bars(picture)
    assert (slower.told, slower.is_over, faster.is_over) == ("+4.0 %", True, False)
    assert slower.left == pytest.approx(faster.left + faster.width)  # zero
    assert slower.width == pytest.approx(4 * faster.width)
    assert slower.limits == faster.limits
    assert slower.left < slower.limits[0] < slower.left + slower.width
    assert faster.reach is not None
    assert faster.reach[0] < faster.left < faster.reach[0] + faster.reach[1]
    assert slower.reach is None
    for bar in (slower, faster):
        assert 0 <= bar.left <= bar.left + bar.width <= 100
