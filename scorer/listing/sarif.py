"""Findings as SARIF 2.1.0 (docs.oasis-open.org/sarif/sarif/v2.1.0), which code hosts and editors read."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from scorer.contest import Profile
from scorer.findings import CODES, Code
from scorer.listing.codes import markdown
from scorer.listing.located import Located

SCHEMA = "https://raw.githubusercontent.com/oasis-tcs/sarif-spec/main/Schemata/sarif-schema-2.1.0.json"
LEVELS = {"hard": "error", "advice": "warning"}


def sarif(findings: Sequence[Located], profile: Profile, command: str, codes: Iterable[str]) -> str:
    """The log of one run of `command` over all findings, with what each of `codes` means; those must hold all found."""
    rules = [_descriptor(code, CODES[code], profile) for code in codes]
    indices = {rule["id"]: index for index, rule in enumerate(rules)}
    seen: Counter[str] = Counter()
    results = [_result(found, indices, seen) for found in findings]
    driver = {
        "name": command,
        "fullName": f"{command}, for the contest {profile.name}, version {profile.version}",
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


def _descriptor(code: str, meaning: Code, profile: Profile) -> dict[str, Any]:
    words = "".join(character if character.isalnum() else " " for character in meaning.title.title())
    return {
        "id": code,
        "name": "".join(words.split()),
        "shortDescription": {"text": meaning.title},
        "fullDescription": {"text": meaning.why},
        "help": {"text": f"{meaning.why}\n\n{meaning.remedy}", "markdown": markdown(meaning)},
        "defaultConfiguration": {"level": LEVELS[profile.rules.get(code, meaning.severity.value)]},
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
