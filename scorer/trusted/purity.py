"""Purity: a model's logits may depend on the tokens before a position and on nothing else.

Each check has a control, something that must change the logits; where the control changes nothing the check proves
nothing, and says so (PUR019) instead of passing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from scorer.findings import Finding, define
from scorer.trusted.model import PUR013, Model, SubmissionError
from scorer.trusted.tolerance import Change, Difference, compare, unit

PUR010 = define(
    "PUR010",
    title="The model looks ahead",
    why="A position whose logits depend on later tokens sees the target that it is scored on.",
    remedy="Mask attention causally; pad convolutions on the left only; normalise over features, never over time.",
)
PUR011 = define(
    "PUR011",
    title="The model keeps state between calls",
    why="The score then depends on what was evaluated before: a second pass over the same shard scores differently.",
    remedy="Update nothing in forward; statistics that training keeps must be frozen by load_for_eval.",
)
PUR012 = define(
    "PUR012",
    title="The logits of a row depend on the batch it is in",
    why="Batch size and neighbours differ between local and official scoring, so the score would too.",
    remedy="Reduce over features or time only, never over the batch axis; choose no path by batch size.",
)
PUR014 = define(
    "PUR014",
    title="The model answers differently in training mode or with gradients enabled",
    why="What was trained is then not what is scored, and a scorer that forgets .eval() scores something else.",
    remedy="Remove dropout and every use of self.training and of torch's gradient mode from the submission's forward.",
)
PUR019 = define(
    "PUR019",
    title="A purity check is void",
    why="Its control, a change that must show, did not show: the check could not have failed.",
    remedy="Find out why the logits do not react; a constant or saturated model cannot be judged.",
)


@dataclass(frozen=True)
class Bench:
    """What the checks work on: two different batches of real rows [B, T] and the logits of the first."""

    model: Model
    first: torch.Tensor
    second: torch.Tensor
    logits: torch.Tensor
    rounding: float


def check(model: Model, rows: torch.Tensor, scored: torch.Tensor) -> list[Finding]:
    """Run every check on real rows, int32 [2 B, T]; SubmissionError where the model cannot even answer.

    `scored` is a batch of the official size: a model may choose another path for larger batches than B.
    """
    half = rows.shape[0] // 2
    first, second = rows[:half], rows[half : 2 * half]
    before = model.state()
    logits = model.forward(first)
    bench = Bench(model, first, second, logits, unit(model.dtypes))
    findings = stateless(bench, before)
    if not any(found.evidence.get("logits_differ") for found in findings):  # else no two runs can be compared
        among_others = batch_independent(bench)
        findings += [*among_others, *causal(bench, alone=bool(among_others)), *mode_independent(bench)]
        told = {found.code for found in findings}
        findings += [found for found in scoring_size(bench, scored, before) if found.code not in told]
    if model.changed_input:
        findings.append(
            model.source.raise_at(PUR013, "forward changed the batch that it was given", model.forward_line)
        )
    return findings


def stateless(bench: Bench, before: dict[str, tuple[str, str]]) -> list[Finding]:
    """The same batch again, after another one, in new storage: the same bits; parameters and buffers as they were."""
    model = bench.model
    again = compare(bench.logits, model.forward(bench.first), Change.NOTHING, bench.rounding)
    other = model.forward(bench.second)
    fresh = compare(other, model.forward(bench.second, fresh=True), Change.NOTHING, bench.rounding)
    last = compare(bench.logits, model.forward(bench.first), Change.NOTHING, bench.rounding)
    if found := _keeps_state(bench, before, next((d for d in (again, fresh, last) if d.exceeded), None)):
        return found
    if torch.equal(other, bench.logits):
        return [_void(bench, "statelessness", "another batch gives the same logits")]
    return []


def _keeps_state(
    bench: Bench, before: dict[str, tuple[str, str]], different: Difference | None, when: str = ""
) -> list[Finding]:
    """PUR011 where repeated passes were `different`, or where parameters or buffers are no longer as `before`."""
    model = bench.model
    after = model.state()
    changed = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
    kept = [name for name in changed if (after.get(name) or before[name])[0] in ("parameter", "buffer")]
    if kept or different:
        culprits = kept or changed
        line = next((line for name in culprits if (line := model.source.kept(name)) is not None), model.forward_line)
        what = f"forward changes {_names(culprits)}" if culprits else "forward depends on earlier calls"
        how = f"; the same batch gives other logits ({different})" if different else ""
        evidence: dict[str, Any] = {"changed": culprits[:10], "logits_differ": different is not None}
        return [model.source.raise_at(PUR011, what + when + how, line, evidence=evidence)]
    return []


def scoring_size(bench: Bench, scored: torch.Tensor, before: dict[str, tuple[str, str]]) -> list[Finding]:
    """A batch of the official size: its first and last row give the same logits alone, and the batch the same twice."""
    model, count = bench.model, scored.shape[0]
    ends = [0, count - 1]
    logits = model.forward(scored)
    alone = torch.cat([model.forward(scored[row : row + 1]) for row in ends])
    again = compare(logits, model.forward(scored), Change.NOTHING, bench.rounding)
    when = f" in a batch of {count}"
    if found := _keeps_state(bench, before, again if again.exceeded else None, when):
        return found
    difference = compare(alone, logits[ends], Change.SHAPE, bench.rounding)
    if difference.exceeded:
        row = ends[difference.position[0]]
        one = scored[row : row + 1]
        module, line = model.locate(one, scored, [(0, row)], scored.shape[1], 16 * bench.rounding)
        where = f", first in {module}" if module else ""
        evidence = {"trial": when.strip(), "module": module, **_numbers(difference, bench)}
        message = f"a row's logits are different{when} than alone{where} ({difference})"
        return [model.source.raise_at(PUR012, message, line, evidence=evidence)]
    if count > 1 and torch.equal(logits[0], logits[-1]):
        return [_void(bench, f"batch independence{when}", "different rows have the same logits")]
    return []


def causal(bench: Bench, alone: bool) -> list[Finding]:
    """Each row's suffix replaced from a position of its own: the logits before it stay, those after it move.

    `alone` tries rows one by one, for a model whose rows depend on their neighbours.
    """
    count, length = bench.first.shape
    cuts = [1 + (row * (length - 2)) // max(1, count - 1) for row in range(count)]
    changed = bench.first.clone()
    for row, cut in enumerate(cuts):
        changed[row, cut:] = _other(bench.first[row, cut:], bench.second[row, cut:])
    if not alone:
        return _looks_ahead(bench, bench.first, changed, cuts) or _other_lengths(bench)
    for row in sorted({0, count // 2, count - 1}):
        one = slice(row, row + 1)
        if found := _looks_ahead(bench, bench.first[one], changed[one], cuts[one]):
            return found
    return []


def _looks_ahead(bench: Bench, before: torch.Tensor, after: torch.Tensor, cuts: list[int]) -> list[Finding]:
    model = bench.model
    expected = bench.logits if before is bench.first else model.forward(before)
    logits = model.forward(after)
    for row, cut in enumerate(cuts):
        difference = compare(expected[row, :cut], logits[row, :cut], Change.CONTENT, bench.rounding)
        if difference.exceeded:
            module, line = model.locate(before, after, [(row, row)], cut, bench.rounding)
            where = f" first in {module}" if module else ""
            return [
                model.source.raise_at(
                    PUR010,
                    f"logits at position {difference.position[0]} change{where} when tokens from position {cut} on do "
                    f"({difference})",
                    line,
                    evidence={"row": row, "cut": cut, "module": module, **_numbers(difference, bench)},
                )
            ]
    if any(torch.equal(expected[row, cut:], logits[row, cut:]) for row, cut in enumerate(cuts)):
        return [_void(bench, "causality", "replacing a row's last tokens changes none of its logits")]
    return []


def _other_lengths(bench: Bench) -> list[Finding]:
    """A row cut to half its length gives the same logits, and rows of twice the length those of their first half."""
    model, length = bench.model, bench.first.shape[1]
    joined = torch.cat((bench.first[:2].reshape(1, -1), bench.second[:2].reshape(1, -1)))
    for what, tokens, expected in (
        ("half the length", bench.first[:2, : length // 2], bench.logits[:2, : length // 2]),
        ("twice the length", joined, torch.stack((bench.logits[0], model.forward(bench.second)[0]))),
    ):
        try:
            found = model.forward(tokens)[:, : expected.shape[1]]
        except SubmissionError as error:
            return [error.finding]
        difference = compare(expected, found, Change.SHAPE, bench.rounding)
        if difference.exceeded:
            return [
                model.source.raise_at(
                    PUR010,
                    f"a row's first logits are different when the row has {what} ({difference})",
                    model.forward_line,
                    evidence={"length": tokens.shape[1], **_numbers(difference, bench)},
                )
            ]
    return []


def batch_independent(bench: Bench) -> list[Finding]:
    """A row alone, in pairs, among other neighbours, and elsewhere in the batch: the same logits."""
    model, count = bench.model, bench.first.shape[0]
    mixed = torch.cat((bench.first[:1], bench.second[1:]))
    trials = [
        ("among other neighbours", mixed, [(0, 0)], Change.CONTENT),
        ("at another position", bench.first.flip(0), [(row, count - 1 - row) for row in range(count)], Change.SHAPE),
        ("alone", bench.first[count - 1 :], [(count - 1, 0)], Change.SHAPE),
        ("in a batch of 2", bench.first[:2], [(0, 0), (1, 1)], Change.SHAPE),
    ]
    for what, tokens, pairs, change in trials:
        logits = model.forward(tokens)
        left, right = ([pair[side] for pair in pairs] for side in (0, 1))
        difference = compare(bench.logits[left], logits[right], change, bench.rounding)
        if difference.exceeded:
            relative = bench.rounding * (1 if change is Change.CONTENT else 16)
            module, line = model.locate(bench.first, tokens, pairs, bench.first.shape[1], relative)
            where = f", first in {module}" if module else ""
            return [
                model.source.raise_at(
                    PUR012,
                    f"a row's logits are different {what}{where} ({difference})",
                    line,
                    evidence={"trial": what, "module": module, **_numbers(difference, bench)},
                )
            ]
        if what == "among other neighbours" and torch.equal(bench.logits[1:], logits[1:]):
            return [_void(bench, "batch independence", "other neighbours have the same logits")]
    return []


def mode_independent(bench: Bench) -> list[Finding]:
    """`.train()` changes no bit, and gradients no more than another kernel would."""
    model = bench.model
    modes: list[tuple[str, dict[str, bool], Change, int | None]] = [
        ("in training mode", {"train": True}, Change.NOTHING, model.source.training_branch()),
        ("with gradients enabled", {"grad": True}, Change.GRADIENTS, model.source.call("is_grad_enabled")),
        ("in training mode with gradients enabled", {"train": True, "grad": True}, Change.GRADIENTS, None),
    ]
    for what, flags, change, branch in modes:
        try:
            logits = model.forward(bench.first, **flags)
        except SubmissionError as error:
            message = f"{what} {error.finding.message}"
            return [model.source.raise_at(PUR014, message, branch or error.finding.artifact_line)]
        difference = compare(bench.logits, logits, change, bench.rounding)
        if difference.exceeded:
            pairs = [(row, row) for row in range(bench.first.shape[0])]
            relative = 0.0 if change is Change.NOTHING else 16 * bench.rounding
            module, line = model.locate(bench.first, bench.first, pairs, bench.first.shape[1], relative, **flags)
            where = f", first in {module}" if module else ""
            evidence = {"module": module, **_numbers(difference, bench)}
            message = f"the logits are different {what}{where} ({difference})"
            return [model.source.raise_at(PUR014, message, branch or line, evidence=evidence)]
    return []


def _other(here: torch.Tensor, there: torch.Tensor) -> torch.Tensor:
    """Tokens of another row, with the first one surely different."""
    other = there.clone()
    if bool(other[0] == here[0]):
        other[0] = other[0] + 1 if int(other[0]) == 0 else other[0] - 1
    return other


def _void(bench: Bench, check_name: str, why: str) -> Finding:
    return bench.model.source.raise_at(PUR019, f"the {check_name} check is void: {why}", bench.model.forward_line)


def _names(names: list[str]) -> str:
    shown = ", ".join(names[:3])
    return f"{shown} and {len(names) - 3} more" if len(names) > 3 else shown


def _numbers(difference: Difference, bench: Bench) -> dict[str, Any]:
    return {
        "largest_change": difference.largest,
        "allowed": difference.allowed,
        "computed_in": sorted(bench.model.dtypes),
    }
