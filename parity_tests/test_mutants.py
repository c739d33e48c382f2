"""Mutants are what their mutators say, are found where they are, and those that are listed as equivalent are there."""

from __future__ import annotations

import ast

import pytest

from parity_tests.mutants import listed
from parity_tests.mutants.mutators import MUTATORS
from parity_tests.mutants.places import ROOT, Mutant, of_source, sample
from parity_tests.mutants.running import footprint, killed, stopping
from parity_tests.receipts_factory import receipt
from scorer.findings import Place, finding
from scorer.room.receipts import CallKind, Calls, Lane

SAMPLE = '''"""A module."""
import torch


@torch.no_grad()
def step(x: "int", state, rate=0.5):
    """Says nothing."""
    total = 0
    for part in state:
        if x < 3 and not part:
            total += part * rate
        total = max(total, -x)
    if x is None:
        raise ValueError(f"{x + 1} is none")
    with torch.no_grad():
        state.clear()
    return torch.exp(total.float(), out=x) - 2
'''
RETURN = "return torch.exp(total.float(), out=x) - 2"


def changes(mutator: str) -> set[tuple[str, str]]:
    return {(m.before, m.after) for m in of_source("sample.py", SAMPLE) if m.mutator == mutator}


@pytest.mark.parametrize(
    ("mutator", "before", "after"),
    [
        ("arithmetic", "total += part * rate", "total += part / rate"),
        ("arithmetic", "total += part * rate", "total -= part * rate"),
        ("comparison", "if x < 3 and not part:", "if x <= 3 and not part:"),
        ("negated", "if x < 3 and not part:", "if not (x < 3 and not part):"),
        ("logic", "if x < 3 and not part:", "if x < 3 or not part:"),
        ("number", "total = 0", "total = 1"),
        ("number", 'def step(x: "int", state, rate=0.5):', 'def step(x: "int", state, rate=0.5078125):'),
        ("sign", "total = max(total, -x)", "total = max(total, x)"),
        ("argument-dropped", "total = max(total, -x)", "total = max(total)"),
        ("arguments-swapped", "total = max(total, -x)", "total = max(-x, total)"),
        ("operands-swapped", RETURN, "return 2 - torch.exp(total.float(), out=x)"),
        ("statement-deleted", "total = max(total, -x)", "pass"),
        ("result-scaled", "total = max(total, -x)", "total = (max(total, -x)) * 1.015625"),
        ("name-swapped", "total = max(total, -x)", "total = min(total, -x)"),
        ("call-dropped", RETURN, "return torch.exp(total, out=x) - 2"),
        ("loop-shortened", "for part in state:", "for part in list(state)[:-1]:"),
        ("decorator-dropped", "@torch.no_grad()", ""),
        ("decorator-dropped", "with torch.no_grad():", "if True:"),
    ],
)  # fmt: skip
def test_a_mutator_makes_its_change(mutator: str, before: str, after: str) -> None:
    assert (before, after) in changes(mutator)


def test_every_mutant_parses_keeps_the_lines_and_is_another_program() -> None:
    found = list(of_source("sample.py", SAMPLE))
    texts = [mutant.edit.apply(SAMPLE) for mutant in found]
    assert len(set(texts)) == len(texts) > 20
    for mutant, text in zip(found, texts, strict=True):
        assert ast.dump(ast.parse(text)) != ast.dump(ast.parse(SAMPLE))
        assert text.count("\n") == SAMPLE.count("\n")
        assert mutant.mutator in MUTATORS


def test_errors_types_and_documentation_are_left_alone() -> None:
    lines = SAMPLE.splitlines()
    for mutant in of_source("sample.py", SAMPLE):
        first, last = mutant.edit.span
        changed = mutant.edit.apply(SAMPLE).splitlines()
        assert '"int"' in changed[5]
        assert [changed[0], changed[6], changed[13]] == [lines[0], lines[6], lines[13]]
        assert all(changed[n] == line for n, line in enumerate(lines) if not first - 1 <= n <= last - 1)


def test_a_statement_that_alone_binds_a_name_is_not_deleted() -> None:
    text = "def f(x):\n    y = x + 1\n    x = y\n    x = 2\n    return x\n"
    deleted = [mutant.before for mutant in of_source("f.py", text) if mutant.mutator == "statement-deleted"]
    assert deleted == ["x = y", "x = 2"]


def test_a_sample_is_the_same_for_the_same_seed_and_begins_with_one_of_each_group() -> None:
    found = list(of_source("sample.py", SAMPLE))
    first, again, other = sample(found, 1), sample(found, 1), sample(found, 2)
    assert first == again != other
    assert sorted(first, key=repr) == sorted(found, key=repr)
    kinds = {mutant.mutator for mutant in found}
    assert {mutant.mutator for mutant in first[: len(kinds)]} == kinds


def mutant(text: str) -> Mutant:
    source = (ROOT / "recipe/kernels/newton_schulz.py").read_text("utf-8")
    return next(one for one in of_source("recipe/kernels/newton_schulz.py", source) if text in one.before)


def test_a_finding_is_right_where_it_names_the_statement_or_at_least_the_function() -> None:
    one = mutant("x = x / (x.norm(")
    for line, on_line, in_function in (
        (one.edit.span[0], True, True),
        (one.function[1], False, True),
        (1, False, False),
    ):
        result = killed(one, finding("LCK003", "parts", place=Place(file=one.file, line=line)))
        assert (result.fate, result.on_line, result.in_function) == ("killed", on_line, in_function)
    elsewhere = killed(one, finding("LCK003", "parts", place=Place(file="recipe/model.py", line=one.edit.span[0])))
    assert not elsewhere.in_function
    assert not killed(one, finding("LCK003", "parts")).in_function


def test_a_probe_ends_the_program_before_the_statement() -> None:
    one = mutant("x = x / (x.norm(")
    lines = stopping(one).splitlines()
    assert lines[one.edit.span[0] - 1].strip() == 'raise RuntimeError("reached")'
    assert lines[one.edit.span[0]].strip() == one.before
    ast.parse(stopping(one))


def test_two_runs_have_one_footprint_unless_a_value_or_a_word_differs() -> None:
    kinds = [
        CallKind(operator="aten::mm", signature="", site=None),
        CallKind(operator="aten::add", signature="", site=None),
    ]
    here, there, other, printed = (receipt(Lane.LOCAL) for _ in range(4))
    for one, calls in (
        (here, ["0 aa", "1 bb"]),
        (there, ["1 bb", "0 aa"]),
        (other, ["0 aa", "1 cc"]),
        (printed, ["0 aa", "1 bb"]),
    ):
        one.ranks[0].calls = [Calls(update=0, kinds=kinds, calls=calls)]
    printed.log_tail = ["another line"]
    assert footprint(here) == footprint(there)
    assert footprint(here) != footprint(other)
    assert footprint(here) != footprint(printed)


def test_the_order_of_tensors_in_a_checkpoint_is_nothing_that_a_run_did() -> None:
    here, turned, other = (receipt(Lane.LOCAL) for _ in range(3))
    assert here.checkpoint is not None
    hashes = here.checkpoint.tensor_hashes
    update = {"sha256": "dd" * 32, "tensor_hashes": dict(reversed(hashes.items()))}
    turned.checkpoint = here.checkpoint.model_copy(update=update)
    other.checkpoint = here.checkpoint.model_copy(update={"tensor_hashes": {**hashes, next(iter(hashes)): "ee" * 32}})
    assert footprint(here) == footprint(turned)
    assert footprint(here) != footprint(other)


def test_what_is_listed_as_equivalent_is_a_mutant_of_the_recipe() -> None:
    for entry in listed.entries():
        mutants = of_source(entry.file, (ROOT / entry.file).read_text("utf-8"))
        ours = [mutant for mutant in mutants if entry.is_of(mutant)]
        assert {mutant.mutator for mutant in ours} == set(entry.mutators)
        assert {mutant.before for mutant in ours} == set(entry.before)
