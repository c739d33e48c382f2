"""The offset from the recipe's own number to the official one, in named parts that add up exactly."""

from __future__ import annotations

from collections.abc import Sequence

from scorer.compare.case import Case
from scorer.compare.result import Offset
from scorer.contest import EvaluationSettings
from scorer.findings import Finding, define, finding
from scorer.room.receipts import Evaluation
from scorer.trusted import settings as ways

SCR004 = define(
    "SCR004",
    title="A part of the offset has no reason to exist",
    why="Saving, importing or another batch size must not change a score; other tokens or context may.",
    remedy="Look at what the part names: the precision of the save, load_for_eval, dependence on the batch.",
)

SAVED = "weights after save"
IMPORTED = "import path"
UNEXPLAINED = (SAVED, IMPORTED, "batch size")
"""Parts that should be nothing. The import path's has a code of its own in the trusted lane (SCR001)."""


def offsets(case: Case) -> list[Offset]:
    """The parts in order: saving, importing, then one setting at a time. Empty where a measurement is missing."""
    if case.trusted is None:
        return []
    measured = case.trusted.evaluations
    recipe = _recipe(case)
    start = _settings(recipe[0]) if recipe else case.profile.evaluation.public
    first = ways.trusted(measured, start)
    if first is None:
        return []
    parts: list[Offset] = []
    if recipe:
        memory, saved = recipe
        parts.append(_part(SAVED, memory, saved))
        parts.append(_part(IMPORTED, saved, first))
    last = first
    for name, settings in ways.steps(start, case.profile.evaluation.official):
        reached = ways.trusted(measured, settings)
        if reached is None:
            return []
        parts.append(_part(name, last, reached))
        last = reached
    return parts


def check(case: Case, parts: Sequence[Offset]) -> list[Finding]:
    """A finding for each part that should be nothing and is more than the profile allows."""
    allowed = case.profile.evaluation.agreement_bpb
    findings = []
    for part in parts:
        if part.name in (SAVED, "batch size") and abs(part.part_bpb) > allowed:
            line = case.source.save() if part.name == SAVED else case.source.function("load_for_eval")
            message = f"{part.name}: {part.part_bpb:+.6f} bpb, allowed {allowed:g}"
            findings.append(finding(SCR004, message, lane="trusted", evidence={"part": part.name}, **case.at(line)))
    return findings


def _recipe(case: Case) -> tuple[Evaluation, Evaluation] | None:
    """The recipe's measurements in memory and of its checkpoint, where that is the checkpoint that was scored."""
    if case.local is None or case.trusted is None:
        return None
    try:
        measured = {evaluation.name: evaluation for evaluation in ways.recipe_evaluations(case.local)}
    except ValueError:  # told by the trusted lane (SCR007)
        return None
    ours, scored = case.local.checkpoint, case.trusted.checkpoint
    if not measured or ours is None or scored is None or ours.tensor_hashes != scored.tensor_hashes:
        return None
    return measured[ways.IN_MEMORY], measured[ways.RECIPE_CHECKPOINT]


def _settings(evaluation: Evaluation) -> EvaluationSettings:
    return EvaluationSettings(
        split=evaluation.split,
        max_tokens=evaluation.num_tokens,
        seq_len=evaluation.seq_len,
        batch_size=evaluation.batch_size,
        world_size=evaluation.world_size,
    )


def _part(name: str, before: Evaluation, after: Evaluation) -> Offset:
    start, end = float.fromhex(before.val_bpb), float.fromhex(after.val_bpb)
    return Offset(name, start, end, end - start)
