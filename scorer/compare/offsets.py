"""The offset from the recipe's own number to the official one, in named parts that add up exactly.

Where only the organiser has the official tokens, the way goes by the public settings, and from there by what the
contest's profile knows of the last step: as others' uploads have shown it, with its spread.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from scorer.compare.case import Case
from scorer.compare.result import Offset
from scorer.contest import AllowedOffset, EvaluationSettings
from scorer.findings import Finding, define, finding
from scorer.room.receipts import Evaluation
from scorer.trusted import settings as ways

SCR004 = define(
    "SCR004",
    title="A part of the offset has no reason to exist",
    why="Saving, importing or another batch size must not change a score; other tokens or context may.",
    remedy="Look at what the part names: the precision of the save, the hook that loads, dependence on the batch.",
)
SCR009 = define(
    "SCR009",
    title="A change of settings moves the score by more than the contest's profile allows",
    why="The same change moved every honest checkpoint by about the same; another offset means other tokens, another "
    "context, or a model that treats the official tokens otherwise.",
    remedy="Look at the evaluations that the message names: their token counts, context and bytes.",
)
SCR010 = define(
    "SCR010",
    title="The scored tokens are not the contest's",
    why="The contest's token set is known by its bytes; a score over other tokens is another number.",
    remedy="Check the kit's data: build them anew with its setup, from the organiser's shards.",
)

SAVED = "weights after save"
IMPORTED = "import path"
UNEXPLAINED = (SAVED, IMPORTED, "batch size")
"""Parts that should be nothing. The import path's has a code of its own in the trusted lane (SCR001)."""


def offsets(case: Case) -> list[Offset]:
    """The parts in order: saving, importing, then one setting at a time, as far as there are measurements."""
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
    rules = case.profile.evaluation
    official = _way(measured, first, ways.steps(start, rules.official))
    if official is not None:
        return [*parts, *official]
    public = _way(measured, first, ways.steps(start, rules.public))
    if public is None:
        return parts
    at = public[-1].to_bpb if public else float.fromhex(first.val_bpb)
    return [*parts, *public, *_expected(case, at)]


def _way(
    measured: Sequence[Evaluation], first: Evaluation, steps: Sequence[tuple[str, EvaluationSettings]]
) -> list[Offset] | None:
    """The parts from one measurement over others; None where one of them is missing."""
    parts, last = [], first
    for name, settings in steps:
        reached = ways.trusted(measured, settings)
        if reached is None:
            return None
        parts.append(_part(name, last, reached))
        last = reached
    return parts


def _expected(case: Case, at: float) -> Iterator[Offset]:
    """From the public settings, whose score is `at`, to the official ones, where the profile knows that step."""
    rules = case.profile.evaluation
    changes = _changes(rules.public, rules.official)
    for allowed in rules.allowed_offsets:
        if changes == {name: tuple(ends) for name, ends in allowed.change.items()}:
            usual, spread = _usual(allowed)
            yield Offset(f"{allowed.name}, expected", at, at + usual, usual, "expected, official settings", spread)
            return


def _usual(allowed: AllowedOffset) -> tuple[float, float]:
    """The mean and the standard deviation where both are known, else the middle of the range and half of its width."""
    low, high = allowed.bpb
    if allowed.mean is None or allowed.sd is None:
        return (low + high) / 2, (high - low) / 2
    return allowed.mean, allowed.sd


def check(case: Case, parts: Sequence[Offset]) -> list[Finding]:
    """A finding for each part that should be nothing and is more than the profile allows."""
    allowed = case.profile.evaluation.agreement_bpb
    findings = []
    for part in parts:
        if part.name in (SAVED, "batch size") and abs(part.part_bpb) > allowed:
            line = case.source.save() if part.name == SAVED else case.source.loader()
            message = f"{part.name}: {part.part_bpb:+.6f} bpb, allowed {allowed:g}"
            findings.append(finding(SCR004, message, lane="trusted", evidence={"part": part.name}, **case.at(line)))
    return [*findings, *_limits(case), *_fingerprints(case)]


def _limits(case: Case) -> Iterator[Finding]:
    """Pairs of measurements whose settings differ by a change that the profile knows, and whose scores by too much."""
    measured = case.trusted.evaluations if case.trusted else []
    ours = [evaluation for evaluation in measured if evaluation.name.startswith("trusted")]
    for allowed in case.profile.evaluation.allowed_offsets:
        for before, after in itertools.permutations(ours, 2):
            if _changes(_settings(before), _settings(after)) != {
                name: tuple(ends) for name, ends in allowed.change.items()
            }:
                continue
            moved = float.fromhex(after.val_bpb) - float.fromhex(before.val_bpb)
            if not allowed.bpb[0] <= moved <= allowed.bpb[1]:
                usual = "" if allowed.mean is None else f", usual {allowed.mean:+g}"
                usual += "" if allowed.sd is None else f" (sd {allowed.sd:g})"
                message = (
                    f"{allowed.name}: {moved:+.6f} bpb from {before.name} to {after.name}, "
                    f"allowed {allowed.bpb[0]:+g} to {allowed.bpb[1]:+g}{usual}"
                )
                yield finding(SCR009, message, lane="trusted", evidence={"offset": allowed.name, "moved": moved})


def _changes(before: EvaluationSettings, after: EvaluationSettings) -> dict[str, tuple[object, object]]:
    """The settings that differ, with both values."""
    here, there = before.model_dump(), after.model_dump()
    return {name: (here[name], there[name]) for name in here if here[name] != there[name]}


def _fingerprints(case: Case) -> Iterator[Finding]:
    """Measurements over as many tokens as a known set has, and not its bytes."""
    known = case.profile.facts.fingerprints if case.profile.facts else []
    for evaluation in case.trusted.evaluations if case.trusted else []:
        key = (evaluation.split, evaluation.num_tokens, evaluation.world_size)
        for one in known:
            if (one.split, one.max_tokens, one.world_size) == key and one.num_bytes != evaluation.num_bytes:
                message = (
                    f"{evaluation.name}: {evaluation.num_tokens:,} tokens of {one.split} have {evaluation.num_bytes:,} "
                    f"bytes, the contest's have {one.num_bytes:,}"
                )
                yield finding(SCR010, message, lane="trusted", evidence={"bytes": evaluation.num_bytes})


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
    return Offset(name, start, end, end - start, after.name)
