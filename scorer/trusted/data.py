"""The kit's data: enough of them, none of the validation text in training, and a byte table that adds up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scorer.contest import EvaluationSettings, Profile
from scorer.findings import Finding, Severity, define
from scorer.trusted.kit_process import KitProcess, KitProcessError
from scorer.trusted.sources import Source
from scorer.trusted.streams import Streams

SCR006 = define(
    "SCR006",
    title="The byte table does not add up to the text's bytes",
    why="Every score divides by the table's bytes. The official table is the contest, right or wrong, so it is used; a "
    "number from another table is not comparable.",
    remedy="Nothing in the submission; do not compare with scores made with another table.",
    severity=Severity.ADVICE,
)
SCR015 = define(
    "SCR015",
    title="A validation split is shorter than the contest's",
    why="The settings ask for more tokens than it holds: it was built short, or from other documents, and a score over "
    "less is another number, however sensible it looks.",
    remedy="Run the kit's setup again, whole; compare the data's hashes with those of somebody whose numbers fit.",
)
SCR016 = define(
    "SCR016",
    title="The kit's data lack a split",
    why="Nothing can be measured under settings that ask for it; the organiser may keep that split to himself.",
    remedy="None is needed for a split that only the organiser has; else run the kit's setup again.",
    severity=Severity.ADVICE,
)
SCR017 = define(
    "SCR017",
    title="Training documents overlap validation",
    why="A model that was trained on what it is scored on has a score that means nothing elsewhere.",
    remedy="Nothing where the kit's own data overlap for everybody; where they were rebuilt, run its setup again.",
    severity=Severity.ADVICE,
)

NAMED = 5  # tokens named in a message


def enough(
    source: Source, streams: Streams, wanted: Sequence[tuple[str, EvaluationSettings]]
) -> tuple[list[tuple[str, EvaluationSettings]], list[Finding]]:
    """The measurements for which there are tokens, and a finding for each split that lacks them."""
    kept, findings, told = [], [], set()
    for name, settings in wanted:
        lack = streams.lacks(settings)
        if lack is None:
            kept.append((name, settings))
        elif settings.split not in told:
            told.add(settings.split)
            code = SCR015 if streams.has(settings.split) else SCR016
            message = f"{lack}; nothing is measured under such settings ({name})"
            findings.append(source.raise_at(code, message, None, evidence={"split": settings.split}))
    return kept, findings


def begin_overlap(profile: Profile, kit: KitProcess, splits: Sequence[str]) -> None:
    """Let the kit's process look for documents of these splits in the training data, while others are at work."""
    limit = profile.budget.eval_timeout_seconds
    kit.start("overlap", train=profile.kit.train_split, splits=list(splits), seconds=limit)


def end_overlap(source: Source, profile: Profile, kit: KitProcess) -> list[Finding]:
    """What `begin_overlap` led to."""
    train = profile.kit.train_split
    try:
        facts = kit.finish(2 * profile.budget.eval_timeout_seconds)
    except KitProcessError as error:
        return [source.raise_at(SCR017, f"not checked: the documents of split {train} cannot be read: {error}", None)]
    if not facts["found"]:
        return []
    message = (
        f"{facts['found']:,} of {facts['documents']:,} documents of split {train} are among the "
        f"{facts['validation']:,} that are scored, the first of {facts['first']!r}"
    )
    return [source.raise_at(SCR017, message, None, evidence={"documents": facts["found"]})]


def table(source: Source, profile: Profile, facts: dict[str, Any], token_bytes: Sequence[int]) -> list[Finding]:
    """The byte table against the text's own bytes, and the special tokens, which stand for none."""
    findings = []
    special = [token for token in profile.kit.special_token_ids if token_bytes[token]]
    if special:
        named = ", ".join(f"{token} ({token_bytes[token]})" for token in special)
        message = f"the kit's table gives bytes to special tokens, which stand for no text: {named}"
        findings.append(source.raise_at(SCR006, message, None, evidence={"tokens": special}))
    if facts["differing"]:
        wrong = facts["wrong"]
        named = "; ".join(map(_describe, wrong[:NAMED]))
        more = f"; and {len(wrong) - NAMED} more were found" if len(wrong) > NAMED else ""
        message = (
            f"the documents that were scored have {facts['text_bytes']:,} UTF-8 bytes, the kit's table counts "
            f"{facts['table_bytes']:,}; {facts['differing']:,} of {facts['documents']:,} documents differ: "
            f"{named}{more}; the kit's table is used"
        )
        evidence = {"documents": facts["differing"], "tokens": wrong}
        findings.append(source.raise_at(SCR006, message, None, evidence=evidence))
    return findings


def _describe(one: dict[str, Any]) -> str:
    """One text whose tokens are counted wrongly, and what that looks like."""
    text, ids, counts, size = one["text"], one["ids"], one["table"], one["bytes"]
    blank = len(text) - len(text.lstrip())
    if len(ids) > 1 and set(counts) == {3} and not text.isascii():
        why = " (3 bytes for each byte token, as for the replacement character)"
    elif not text.isascii() and sum(counts) == len(text):
        why = " (characters are counted, not bytes)"
    elif blank and sum(counts) - size == blank:
        why = " (the leading space counts twice)"
    elif blank and size - sum(counts) == blank:
        why = " (the leading space does not count)"
    else:
        why = ""
    tokens = f"token {ids[0]} counts" if len(ids) == 1 else f"tokens {' + '.join(map(str, ids[:8]))} count"
    return f"{tokens} {sum(counts)} for {text[:40]!r}, which has {size}{why}"
