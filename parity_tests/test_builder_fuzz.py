"""Differential fuzzing: a random package and the artifact that is built of it show the same.

A failure comes with the smallest program that still has it. `nox -s fuzz` runs 2,000 programs.
"""

from __future__ import annotations

import collections
import random

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from parity_tests.fuzz.__main__ import outcome, shrunk
from parity_tests.fuzz.expressions import FEATURES
from parity_tests.fuzz.packages import Packages

SEEN: collections.Counter[str] = collections.Counter()


# Failures are made small by taking statements out (see `reduce`), which hypothesis cannot do.
ONCE = settings(
    max_examples=100,
    deadline=None,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@ONCE
@given(features=st.sets(st.sampled_from(sorted(FEATURES)), min_size=8), seed=st.integers(0, 2**32))
def test_random_packages_show_the_same_as_their_artifacts(features: set[str], seed: int) -> None:
    files = Packages(random.Random(seed), frozenset(features)).package()
    result, failure = outcome(files)
    SEEN[result] += 1
    assert failure is None, shrunk(files, failure)


def test_few_programs_are_refused() -> None:
    """Behind the test above: a fuzz in which all is refused would prove nothing."""
    count = sum(SEEN.values())
    if not count:
        pytest.skip("the programs have not been run in this process")
    assert SEEN["same"] >= 0.7 * count, dict(SEEN)
