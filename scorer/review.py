"""Static review: every rule of `scorer/rules/` over one artifact, all findings listed.

A rule file:

    code: REV010
    title: reads the environment          # one line
    severity: hard                        # or advice; a profile's `rules` may change it or switch the rule off
    faults: [E8]                          # what happened in practice, for readers
    why: ...
    remedy: ...
    example: ...
    message: "reads {TEXT}"               # {TEXT}: the match; other words come from the check
    match: {...}                          # an ast-grep rule, in the form of its YAML rule files
    where: {OBJECT: [os.environ]}         # `matches: OBJECT` in it: one of these names, however it was imported
    allow: known_variable                 # a named exception, below
    check: hooks                          # instead of match: a function of scorer/rules/*.py
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml
from ast_grep_py import SgNode
from pydantic import BaseModel, ConfigDict, Field, model_validator

from scorer.artifact import Artifact
from scorer.contest import Profile
from scorer.findings import Finding, Severity, define, finding
from scorer.rules import checks, choices, flow, rescue
from scorer.rules.endings import always_raises
from scorer.rules.source import Hit, Source

RULES = Path(__file__).parent / "rules"
SYNTAX = define(
    "REV001",
    title="not a Python file",
    why="The scorer imports the file; a file that does not parse scores nothing.",
    remedy="Correct the line, and build again.",
)

NOTHING = "$^"  # the regular expression that nothing matches
# Modules whose attributes are meant to be assigned.
SETTINGS = ("torch.backends.", "torch._dynamo.config.", "torch._inductor.config.", "torch._functorch.config.")

Check = Callable[[Source, Artifact, Profile], Iterator[Hit]]
CHECKS: dict[str, Check] = {
    "size": checks.size,
    "hooks": checks.hooks,
    "imports": checks.imports,
    "launch_flags": checks.launch_flags,
    "partial_chip": checks.partial_chip,
    "changed_file": checks.changed_file,
    "changed_launch": checks.changed_launch,
    "docstring": checks.docstring,
    "unused_imports": checks.unused_imports,
    "postponed_dataclass": checks.postponed_dataclass,
    "conflicting_compiler_settings": checks.conflicting_compiler_settings,
    "main_guard": flow.main_guard,
    "name_tests": flow.name_tests,
    "late_environment": flow.late_environment,
    "rescued_kernel": rescue.rescued_kernel,
    "other_implementation": rescue.other_implementation,
    "error_only_printed": rescue.error_only_printed,
    "shape_fallback": choices.shape_fallback,
    "machine_choice": choices.machine_choice,
    "device_choice": choices.device_choice,
    "step_choice": choices.step_choice,
    "setting_choice": choices.setting_choice,
}


class Rule(BaseModel):
    """One rule file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    code: str
    title: str
    severity: Severity
    faults: list[str] = Field(default_factory=list)
    why: str
    remedy: str
    example: str
    message: str
    match: dict[str, Any] | None = None
    where: dict[str, list[str]] = Field(default_factory=dict)
    allow: str | None = None
    check: str | None = None

    @model_validator(mode="after")
    def _complete(self) -> Rule:
        if (self.match is None) == (self.check is None):
            raise ValueError(f"{self.code}: give either match or check")
        if self.check is not None and self.check not in CHECKS:
            raise ValueError(f"{self.code}: no check is named {self.check!r}; known ones: {', '.join(sorted(CHECKS))}")
        if self.allow is not None and self.allow not in ALLOWANCES:
            raise ValueError(
                f"{self.code}: no exception is named {self.allow!r}; known: {', '.join(sorted(ALLOWANCES))}"
            )
        return self


def review(artifact: Artifact, profile: Profile) -> list[Finding]:
    """Every finding of every rule that the profile has not switched off, by line, then by code."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, 20_000))  # a sum of a thousand terms is a tree a thousand deep
    try:
        return _review(artifact, profile)
    except RecursionError:
        message = "an expression is nested too deeply to be read"
        return [finding(SYNTAX, message, place=artifact.place(1), artifact_line=1)]
    finally:
        sys.setrecursionlimit(limit)


def _review(artifact: Artifact, profile: Profile) -> list[Finding]:
    try:
        source = Source(artifact.source)
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None) or 1
        message = f"does not parse: {getattr(error, 'msg', error)}"
        return [finding(SYNTAX, message, place=artifact.place(line), artifact_line=line)]
    found: list[Finding] = []
    for rule in ALL_RULES:
        setting = profile.rules.get(rule.code, rule.severity.value)
        if setting == "off":
            continue
        for hit in _hits(rule, source, artifact, profile):
            found.append(
                finding(
                    rule.code,
                    rule.message.format_map(hit.words),
                    severity=Severity(setting),
                    place=artifact.place(hit.line),
                    artifact_line=hit.line,
                    evidence={"text": source.lines[hit.line - 1].strip()},
                )
            )
    return sorted(found, key=lambda f: (f.artifact_line or 0, f.code, f.message))


def _read_rules() -> tuple[Rule, ...]:
    """Every rule; reading them enters their codes into the table of findings."""
    found = [
        Rule.model_validate(yaml.safe_load(path.read_text(encoding="utf-8"))) for path in sorted(RULES.glob("*.yaml"))
    ]
    for rule in found:
        define(rule.code, title=rule.title, why=rule.why, remedy=rule.remedy, severity=rule.severity)
    return tuple(found)


def _hits(rule: Rule, source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    if rule.check is not None:
        yield from CHECKS[rule.check](source, artifact, profile)
        return
    named: Any = {}
    for name, full_names in rule.where.items():
        spellings = [spelling for full in full_names for spelling in source.spellings(full)]
        regex = f"^({'|'.join(spellings)})$" if spellings else NOTHING
        named[name] = {"any": [{"kind": "identifier"}, {"kind": "attribute"}], "regex": regex}
    if named and all(util["regex"] == NOTHING for util in named.values()):
        return  # the file does not import any of the names
    query: Any = {"rule": rule.match, "utils": named}
    seen: set[int] = set()
    for node in source.root.find_all(query):
        line = node.range().start.line + 1
        words = [match.text() for name in named for match in _find(node, name, named)]
        if words and all(source.shadowed(word.partition(".")[0], line) for word in words):
            continue
        if rule.allow is not None and ALLOWANCES[rule.allow](node, words, source, profile):
            continue
        if line not in seen:
            seen.add(line)
            yield Hit(line, {"TEXT": node.text().splitlines()[0]})


def _find(node: SgNode, name: str, named: Any) -> list[SgNode]:
    """Every expression inside a match that names one of the rule's `where` entries."""
    query: Any = {"rule": {"matches": name}, "utils": named}
    return node.find_all(query)


# --- Exceptions that rules name by `allow` ---


def _known_variable(node: SgNode, words: list[str], source: Source, profile: Profile) -> bool:
    """The environment variable is one that the launcher, the harness or the launch string sets."""
    if node.kind() == "subscript":
        name = node.field("subscript")
    elif node.kind() == "call":
        arguments = node.field("arguments")
        name = next((child for child in arguments.children() if child.is_named()), None) if arguments else None
    else:
        name = next(iter(node.children()), None)
    value = _string(name)
    return value is not None and (profile.environment.owner(value) is not None or value in profile.launch.environment)


def _string(node: SgNode | None) -> str | None:
    """The value of a string literal."""
    if node is None or node.kind() != "string":
        return None
    try:
        value = ast.literal_eval(node.text())
    except (SyntaxError, ValueError):  # an f-string
        return None
    return value if isinstance(value, str) else None


def _setting(node: SgNode, words: list[str], source: Source, profile: Profile) -> bool:
    """What is assigned is one of torch's own settings."""
    return bool(words) and source.full_name(words[0]).startswith(SETTINGS)


def _raises(node: SgNode, words: list[str], source: Source, profile: Profile) -> bool:
    """Every way out of the matched `except` clause, or of all clauses of the matched `try`, is an exception."""
    line = node.range().start.line + 1
    for candidate in source.nodes:
        if isinstance(candidate, ast.ExceptHandler) and candidate.lineno == line and node.kind() == "except_clause":
            return always_raises(source, candidate.body)
        if isinstance(candidate, ast.Try | ast.TryStar) and candidate.lineno == line and node.kind() == "try_statement":
            return all(always_raises(source, handler.body) for handler in candidate.handlers)
    return False


def _refused(node: SgNode, words: list[str], source: Source, profile: Profile) -> bool:
    """The string stands only in the condition of an `if` that does nothing but raise when a value equals it."""
    start = node.range().start
    for candidate in source.nodes:
        if not (isinstance(candidate, ast.If) and len(candidate.body) == 1):
            continue
        test = candidate.test
        if not (isinstance(candidate.body[0], ast.Raise) and isinstance(test, ast.Compare) and len(test.ops) == 1):
            continue
        if not isinstance(test.ops[0], (ast.Eq, ast.In)):
            continue
        for side in (test.left, *test.comparators):
            for value in side.elts if isinstance(side, (ast.Tuple, ast.List, ast.Set)) else [side]:
                if isinstance(value, ast.Constant) and value.lineno == start.line + 1:
                    before = source.lines[start.line].encode()[: value.col_offset].decode()
                    if len(before) == start.column:
                        return True
    return False


ALLOWANCES: dict[str, Callable[[SgNode, list[str], Source, Profile], bool]] = {
    "known_variable": _known_variable,
    "setting": _setting,
    "raises": _raises,
    "refused": _refused,
}
ALL_RULES = _read_rules()
