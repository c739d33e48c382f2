"""Findings as SARIF 2.1.0 (docs.oasis-open.org/sarif/sarif/v2.1.0), which code hosts and editors read."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from scorer.contest import Profile
from scorer.findings import CODES, Severity
from scorer.listing.located import Located
from scorer.review import ALL_RULES, SYNTAX, Rule

SCHEMA = "https://raw.githubusercontent.com/oasis-tcs/sarif-spec/main/Schemata/sarif-schema-2.1.0.json"
LEVELS = {"hard": "error", "advice": "warning"}


def sarif(findings: Sequence[Located], profile: Profile) -> str:
    """The log of one run over all findings, with what every rule of the contest means."""
    in_force = [rule for rule in ALL_RULES if profile.rules.get(rule.code) != "off"]
    rules = [_syntax(), *(_rule(rule, profile) for rule in sorted(in_force, key=lambda rule: rule.code))]
    indices = {rule["id"]: index for index, rule in enumerate(rules)}
    seen: Counter[str] = Counter()
    results = [_result(found, indices, seen) for found in findings]
    driver = {
        "name": "scorer check",
        "fullName": f"Static review for the contest {profile.name}, version {profile.version}",
        "semanticVersion": f"{profile.version}.0.0",
        "rules": rules,
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "invocations": [{"executionSuccessful": True}],
        "results": results,
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1, sort_keys=True)


def _syntax() -> dict[str, Any]:
    code = CODES[SYNTAX]
    return _descriptor(SYNTAX, code.title, code.why, code.remedy, "", Severity.HARD.value)


def _rule(rule: Rule, profile: Profile) -> dict[str, Any]:
    weight = profile.rules.get(rule.code, rule.severity.value)
    return _descriptor(rule.code, rule.title, rule.why, rule.remedy, rule.example, weight)


def _descriptor(code: str, title: str, why: str, remedy: str, example: str, weight: str) -> dict[str, Any]:
    shown = f"\n\n```python\n{example.rstrip()}\n```" if example else ""
    words = "".join(character if character.isalnum() else " " for character in title.title())
    return {
        "id": code,
        "name": "".join(words.split()),
        "shortDescription": {"text": title},
        "fullDescription": {"text": why},
        "help": {"text": f"{why}\n\n{remedy}", "markdown": f"{why}{shown}\n\n**Instead:** {remedy}"},
        "defaultConfiguration": {"level": LEVELS[weight]},
    }


def _result(found: Located, indices: dict[str, int], seen: Counter[str]) -> dict[str, Any]:
    here = _location(_uri(found.path), found.line, found)
    if found.source is None:
        places: dict[str, Any] = {"locations": [here]}
    else:
        origin = _location(quote(found.source[0]), found.source[1], None)
        here["id"], here["message"] = 1, {"text": "the same in the built file"}
        places = {"locations": [origin], "relatedLocations": [here]}
    # The same line of the same file stays the same result when lines are added above it.
    content = f"{found.finding.code}\0{found.path.name}\0{' '.join(found.text.split())}"
    digest = hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    seen[digest] += 1
    return {
        "ruleId": found.finding.code,
        "ruleIndex": indices[found.finding.code],
        "level": LEVELS[found.finding.severity.value],
        "message": {"text": f"{found.finding.message}. {found.code.remedy}"},
        "partialFingerprints": {"primaryLocationLineHash": f"{digest}:{seen[digest]}"},
        **places,
    }


def _location(uri: str, line: int, found: Located | None) -> dict[str, Any]:
    region: dict[str, Any] = {"startLine": line}
    if found is not None and found.column is not None:
        region["startColumn"] = found.column
        if found.end is not None:
            region["endLine"], region["endColumn"] = found.end
    if found is not None and found.text:
        region["snippet"] = {"text": found.text[:1000]}
    return {"physicalLocation": {"artifactLocation": {"uri": uri}, "region": region}}


def _uri(path: Path) -> str:
    """A path relative to the working directory, where it is below it; else the whole address of the file."""
    whole = path.resolve()
    if whole.is_relative_to(Path.cwd()):
        return quote(whole.relative_to(Path.cwd()).as_posix())
    return whole.as_uri()
