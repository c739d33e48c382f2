"""Differential fuzzing: a random package and the artifact that is built of it show the same.

A failure comes with the smallest program that still has it. `nox -s fuzz` runs 2,000 programs.
"""

from __future__ import annotations

import collections
import random
import warnings
from collections.abc import Callable, Iterable

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from builder import produce as phases
from builder.bindings import Bindings
from builder.code import Code
from builder.edits import Edit, Renderer
from builder.flow import Flow
from builder.link import Linker
from builder.scopes import Scope
from builder.source import Source
from parity_tests.fuzz.__main__ import outcome, program, shrunk
from parity_tests.fuzz.expressions import FEATURES
from parity_tests.fuzz.knobs import Knobs
from parity_tests.fuzz.packages import Packages

SEEN: collections.Counter[str] = collections.Counter()
KNOBS_SEEN: collections.Counter[str] = collections.Counter()


# Failures are made small by taking statements out (see `reduce`), which hypothesis cannot do.
ONCE = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@ONCE
@given(features=st.sets(st.sampled_from(sorted(FEATURES)), min_size=8), seed=st.integers(0, 2**32))
def test_random_packages_show_the_same_as_their_artifacts(features: set[str], seed: int) -> None:
    files = Packages(random.Random(seed), frozenset(features)).package()
    warnings.simplefilter("ignore", SyntaxWarning)  # of the parser, about what the programs do on purpose
    result, failure = outcome(files)
    SEEN[result] += 1
    assert failure is None, shrunk(files, failure)


@pytest.mark.long
@ONCE
@given(seed=st.integers(0, 2**32))
def test_programs_with_knobs_show_the_same_as_their_bare_artifacts(seed: int) -> None:
    files = Knobs(random.Random(seed)).package()
    warnings.simplefilter("ignore", SyntaxWarning)
    result, failure = outcome(files)
    KNOBS_SEEN[result] += 1
    assert failure is None, shrunk(files, failure)


@pytest.mark.parametrize(
    "seen",
    [pytest.param(SEEN, id="packages"), pytest.param(KNOBS_SEEN, id="knobs", marks=pytest.mark.long)],
)
def test_few_programs_are_refused(seen: collections.Counter[str]) -> None:
    """Behind the tests above: a fuzz in which all is refused would prove nothing."""
    count = sum(seen.values())
    if not count:
        pytest.skip("the programs have not been run in this process")
    refused = sum(number for result, number in seen.items() if result.startswith("BLD"))
    assert refused <= 0.08 * count, dict(seen)
    assert seen["same"] >= 0.85 * count, dict(seen)


def unseen(kind: str) -> Callable[[Scope], Iterable[Scope]]:
    """The scopes around a name, those of one kind overlooked."""
    chain = Scope.chain

    def overlook(scope: Scope) -> Iterable[Scope]:
        return (found for found in chain(scope) if found.kind != kind)

    return overlook


def drop_edits(self: Renderer, source: Source, edits: list[Edit]) -> None:
    """A printer that loses one edit in nine."""
    self.source = source
    self.edits = [edit for i, edit in enumerate(sorted(edits, key=lambda e: (e.start, -e.end))) if i % 9 != 8]
    self.starts = [edit.start for edit in self.edits]


BROKEN: dict[str, tuple[object, str, object]] = {
    "names hidden by comprehensions": (Scope, "chain", unseen("comprehension")),
    "names hidden by functions": (Scope, "chain", unseen("function")),
    "names hidden by lambdas": (Scope, "chain", unseen("lambda")),
    "names hidden by class bodies": (Scope, "chain", unseen("class")),
    "class bodies that read the module's": (Bindings, "fallback", lambda *_: None),
    "variables that star imports copy": (Linker, "given_by_star", lambda *_: []),
    "variables that functions change": (Bindings, "changes", lambda *_: False),
    "edits of the text": (Renderer, "__init__", drop_edits),
}
BROKEN_KNOBS: dict[str, tuple[object, str, object]] = {
    "options that code sets": (Code, "check_option", lambda *_: None),
    "what statements that are not followed touch": (Flow, "forget", lambda *_: None),
}


@pytest.mark.long
@pytest.mark.parametrize("what", [*BROKEN, *BROKEN_KNOBS])
def test_a_builder_that_overlooks_something_is_found_out(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: without its own proof, a broken builder is caught by what its artifacts do, within 100 programs."""
    warnings.simplefilter("ignore", SyntaxWarning)
    owner, name, broken = {**BROKEN, **BROKEN_KNOBS}[what]
    monkeypatch.setattr(owner, name, broken)
    monkeypatch.setattr(phases, "verify", lambda *_, **__: None)
    assert any(outcome(program(seed))[0] == "wrong" for seed in range(400 + (what in BROKEN_KNOBS), 600, 2))
