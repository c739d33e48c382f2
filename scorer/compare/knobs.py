"""Knobs: what the recipe held when it ran, against what the artifact froze, and what only one launch carries."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from scorer.compare.case import Case, stated_place
from scorer.findings import Finding, Place, define, finding
from scorer.room.receipts import Receipt

KNB001 = define(
    "KNB001",
    title="A knob has another value in the artifact than in the local run",
    why="What was measured locally is then not what is uploaded.",
    remedy="Build the artifact from the configuration that the local run uses, overrides included.",
)
KNB002 = define(
    "KNB002",
    title="Only the local launch carries an argument",
    why="The uploaded file runs without it, with the value that was built in: it is another run.",
    remedy="Put the value into the configuration and build again, or run locally without the argument.",
)
KNB003 = define(
    "KNB003",
    title="Ranks of one run hold different knobs",
    why="Then no single configuration describes the run.",
    remedy="Read the configuration once, from the same source on every rank.",
)


def compare(case: Case) -> list[Finding]:
    """Findings about knobs and arguments; arguments first, since they explain the knobs that they set."""
    findings = []
    local, artifact = case.local, case.artifact_lane
    for receipt in (local, artifact):
        if receipt is not None:
            findings += _ranks(receipt)
    if local is None or artifact is None or not local.ranks:
        return findings
    different = dict(_differing(case, local, artifact))
    extra = _extra_arguments(local, artifact)
    explained = {name for name in different if name in extra}
    for name in sorted(explained):
        here, there, place = different[name]
        findings.append(
            finding(
                KNB002,
                f"the local launch carries {extra[name]}, the artifact was built with {name} = {_shown(there)}",
                place=place,
                lane="local",
                evidence={"argument": extra[name], "local": here, "artifact": there},
            )
        )
    for name in sorted(different.keys() - explained):
        here, there, place = different[name]
        findings.append(
            finding(
                KNB001,
                f"{name} is {_shown(here)} in the local run and {_shown(there)} in the artifact",
                place=place,
                lane="local",
                evidence={"knob": name, "local": here, "artifact": there},
            )
        )
    if local.subject.kind == "file":  # a recipe's own runner has arguments of its own: its knobs tell what they did
        findings += [
            finding(
                KNB002,
                f"the {where} launch alone carries {words}",
                lane=where,
                evidence={"argument": words},
            )
            for where, mine, theirs in (("local", local, artifact), ("artifact", artifact, local))
            for _, words in sorted(_extra_arguments(mine, theirs).items())
        ]
    return findings


def _differing(case: Case, local: Receipt, artifact: Receipt) -> Iterator[tuple[str, tuple[Any, Any, Place | None]]]:
    """Knobs that differ: name -> (local value, artifact's value, where the artifact's comes from)."""
    held = local.ranks[0].knobs
    frozen: dict[str, dict[str, Any]] = case.manifest.get("knobs", {})
    for name, knob in frozen.items():
        if name in held and not same(held[name], knob["value"]):
            yield name, (held[name], knob["value"], stated_place(knob.get("origin")))
    running = artifact.ranks[0].knobs if artifact.ranks else {}
    for name, value in running.items():
        if name in held and name not in frozen and not same(held[name], value):
            yield name, (held[name], value, None)


def same(left: Any, right: Any) -> bool:
    """Equality of two values that went through JSON: 1 and 1.0 are one number, True is none."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(same, left, right))
    return bool(left == right)


def _extra_arguments(mine: Receipt, theirs: Receipt) -> dict[str, str]:
    """Options of one launch that the other lacks or gives another value: knob name -> the words."""
    left, right = _options(mine), _options(theirs)
    return {name: words for name, words in left.items() if right.get(name) != words}


def _options(receipt: Receipt) -> dict[str, str]:
    if receipt.launch is None:
        return {}
    words = receipt.launch.program
    words = words[2:] if words[:1] == ["-m"] else words[1:]
    options: dict[str, str] = {}
    for position, word in enumerate(words):
        if word.startswith("--"):
            name = word[2:].partition("=")[0].replace("-", "_")
            value = words[position + 1 : position + 2]
            takes_next = "=" not in word and value and not value[0].startswith("--")
            options[name] = f"{word} {value[0]}" if takes_next else word
    return options


def _ranks(receipt: Receipt) -> list[Finding]:
    first = receipt.ranks[0] if receipt.ranks else None
    for rank in receipt.ranks[1:]:
        assert first is not None
        for name in sorted(first.knobs.keys() | rank.knobs.keys()):
            here, there = first.knobs.get(name), rank.knobs.get(name)
            if name.lower() not in ("rank", "local_rank") and not same(here, there):
                message = f"{name} is {_shown(here)} on rank {first.rank} and {_shown(there)} on rank {rank.rank}"
                return [finding(KNB003, message, lane=receipt.lane.value, rank=rank.rank, evidence={"knob": name})]
    return []


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
