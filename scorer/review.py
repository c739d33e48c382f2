"""Static review: every rule of `scorer/rules/` over one artifact, all findings listed.

A rule file:

    code: REV010
    title: reads the environment          # one line
    severity: hard                        # or advice; a profile's `rules` may change it or switch the rule off
    faults: [E8]                          # what happened in practice, for readers
    why: ...
    remedy: ...
    example: ...
    message: "reads {TEXT}"               # {TEXT}: the match; {SCRIPT}: the file; other words come from the check
    match: {...}                          # an ast-grep rule, in the form of its YAML rule files
    where: {OBJECT: [os.*, "!os.path.*"]} # `matches: OBJECT` in it: what one of these names stands for, however it is
                                          # written: fullnames.py; `!` takes names out again
    allow: raises                         # a named exception, below
    check: hooks                          # instead of match: a function of scorer/rules/*.py

What a rule is, why, and what to do about it are data for all of them. The matching is data only where one pattern says
it (13 rules); the others (81) ask what a name, a string or a branch stands for: Python checks over the syntax tree.
"""

from __future__ import annotations

import ast
import gc
import re
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
from scorer.rules import (
    blobs,
    checks,
    choices,
    clocks,
    data,
    dead,
    environment,
    files,
    flow,
    grids,
    imported,
    launched,
    literals,
    modes,
    names,
    objects,
    options,
    pickles,
    purity,
    ranks,
    rescue,
    saving,
    surroundings,
)
from scorer.rules.source import NOTHING, Hit, Source, Span

RULES = Path(__file__).parent / "rules"
SYNTAX = define(
    "REV001",
    title="not a Python file",
    why="The scorer imports the file; a file that does not parse scores nothing.",
    remedy="Correct the line, and build again.",
)

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # compiled, it is five times as fast
KIT = "{KIT}"  # in a name of `where`: the module of the contest's kit
# Kinds of expressions that can stand for something imported.
SHAPES = [
    {"kind": kind}
    for kind in (
        *("identifier", "attribute", "call", "subscript", "named_expression", "conditional_expression"),
        "boolean_operator",
    )
]

Check = Callable[[Source, Artifact, Profile], Iterator[Hit]]
CHECKS: dict[str, Check] = {
    "size": checks.size,
    "missing_files": checks.missing_files,
    "hooks": checks.hooks,
    "imports": checks.imports,
    "launch_flags": checks.launch_flags,
    "partial_chip": checks.partial_chip,
    "changed_file": checks.changed_file,
    "changed_launch": checks.changed_launch,
    "docstring": checks.docstring,
    "unused_imports": checks.unused_imports,
    "postponed_dataclass": checks.postponed_dataclass,
    "conflicting_compiler_settings": environment.conflicting_compiler_settings,
    "main_guard": imported.main_guard,
    "name_tests": imported.name_tests,
    "runs_on_import": imported.runs_on_import,
    "environment_reads": environment.environment_reads,
    "stripped_reads": environment.stripped_reads,
    "environment_defaults": environment.environment_defaults,
    "owned_settings": environment.owned_settings,
    "contradicting_settings": environment.contradicting_settings,
    "late_environment": flow.late_environment,
    "contradicted_constants": launched.contradicted_constants,
    "docstring_launch": launched.docstring_launch,
    "idle_ranks": ranks.idle_ranks,
    "smaller_groups": ranks.smaller_groups,
    "grids_that_differ": grids.grids_that_differ,
    "grids_that_can_differ": grids.grids_that_can_differ,
    "decided_branch": dead.decided_branch,
    "idle_arithmetic": dead.idle_arithmetic,
    "unused_definitions": dead.unused_definitions,
    "repeated_keys": dead.repeated_keys,
    "unread_options": options.unread_options,
    "options_that_must_agree": options.options_that_must_agree,
    "resume_code": options.resume_code,
    "steps_alone": clocks.steps_alone,
    "clock_without_waiting": clocks.clock_without_waiting,
    "small_reserve": clocks.small_reserve,
    "looks_ahead": purity.looks_ahead,
    "keeps_state": purity.keeps_state,
    "hook_that_learns": purity.hook_that_learns,
    "leaves_device": purity.leaves_device,
    "names_without_value": names.names_without_value,
    "endless_recursion": names.endless_recursion,
    "unread_knobs": literals.unread_knobs,
    "magic_numbers": literals.magic_numbers,
    "training_branch": modes.training_branch,
    "gradient_branch": modes.gradient_branch,
    "environment_elsewhere": environment.environment_elsewhere,
    "validation_data": data.validation_data,
    "scoring_functions": data.scoring_functions,
    "shard_search": data.shard_search,
    "untold_splits": data.untold_splits,
    "shard_numbers": data.shard_numbers,
    "foreign_data": data.foreign_data,
    "outside_writes": files.outside_writes,
    "descriptors": files.descriptors,
    "unpickling": pickles.unpickling,
    "saved_objects": saving.saved_objects,
    "unsafe_saves": saving.unsafe_saves,
    "checkpoint_parts": saving.checkpoint_parts,
    "blobs": blobs.blobs,
    "object_internals": objects.object_internals,
    "changed_objects": objects.changed_objects,
    "escaping_modules": objects.escaping_modules,
    "hidden_characters": blobs.hidden_characters,
    "patched_methods": objects.patched_methods,
    "operator_overrides": objects.operator_overrides,
    "surroundings": surroundings.surroundings,
    "unseeded": surroundings.unseeded,
    "parallel_work": surroundings.parallel_work,
    "optional_import": rescue.optional_import,
    "broad_except": rescue.broad_except,
    "suppressed_exception": rescue.suppressed_exception,
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
    """Every finding of every rule that the profile has not switched off, by file, then by line, then by code."""
    limit = sys.getrecursionlimit()
    digits = sys.get_int_max_str_digits()
    sys.setrecursionlimit(max(limit, 20_000))  # a sum of a thousand terms is a tree a thousand deep
    sys.set_int_max_str_digits(0)  # a file may hold numbers that Python would not print
    collecting = gc.isenabled()
    gc.disable()  # the trees of a file live until its review ends: going over them again and again frees nothing
    try:
        return [found for file in (artifact, *artifact.others) for found in _review(file, profile)]
    except RecursionError:
        message = "an expression is nested too deeply to be read"
        return [finding(SYNTAX, message, place=artifact.place(1), artifact_line=1)]
    finally:
        sys.setrecursionlimit(limit)
        sys.set_int_max_str_digits(digits)
        if collecting:
            gc.enable()


def _review(artifact: Artifact, profile: Profile) -> list[Finding]:
    try:
        script = artifact.member or profile.launch.script
        source = Source(artifact.source, script)
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None) or 1
        message = f"does not parse: {getattr(error, 'msg', error)}"
        return [finding(SYNTAX, message, place=artifact.place(line), artifact_line=line)]
    placed: list[tuple[tuple[int, int, str, str], Finding]] = []
    for rule in ALL_RULES:
        setting = profile.rules.get(rule.code, rule.severity.value)
        if setting == "off":
            continue
        for hit in _hits(rule, source, artifact, profile):
            message = rule.message.format_map({"SCRIPT": script, **hit.words})
            found = finding(
                rule.code,
                message,
                severity=Severity(setting),
                place=artifact.place(hit.line),
                artifact_line=None if artifact.member else hit.line,
                artifact_column=hit.column,
                artifact_end=hit.end,
                evidence={"text": source.lines[hit.line - 1].strip()},
            )
            placed.append(((hit.line, hit.column or 0, rule.code, message), found))
    return [found for _, found in sorted(placed, key=lambda pair: pair[0])]


def _read_rules() -> tuple[Rule, ...]:
    """Every rule; reading them enters their codes into the table of findings."""
    found = [
        Rule.model_validate(yaml.load(path.read_text(encoding="utf-8"), LOADER))
        for path in sorted(RULES.glob("*.yaml"))
    ]
    for rule in found:
        define(
            rule.code,
            title=rule.title,
            why=rule.why,
            remedy=rule.remedy,
            severity=rule.severity,
            example=rule.example,
        )
    return tuple(found)


def _hits(rule: Rule, source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    if rule.check is not None:
        yield from CHECKS[rule.check](source, artifact, profile)
        return
    named: Any = {}
    spans: dict[str, set[Span]] = {}
    for word, full_names in rule.where.items():
        names = [name.replace(KIT, profile.kit.module) for name in full_names]
        found = [node for _, node in source.standing_for(*names)]
        spans[word] = {source.span(node) for node in found}
        named[word] = _utility(word, {re.escape(source.segment(node)) for node in found})
    if not any(spans.values()) and _needs_a_name(rule.match):
        return
    query: Any = {"rule": rule.match, "utils": named}
    last = (-1, -1, -1)
    for node in source.root.find_all(query):
        span = _span(node)
        if (span[2], span[3]) <= last[1:] and (named or span[0] == last[0]):
            continue  # inside of an expression that was reported
        if named and not _stands_for(node, rule.match, named, spans):
            continue
        if rule.allow is not None and ALLOWANCES[rule.allow](node, source, profile):
            continue
        if rule.match is not None and rule.match.keys() == {"matches"}:
            node = _called(node)  # `exec` alone says less than `exec(text)`
            span = _span(node)
        last = (span[0], span[2], span[3])
        yield Hit(span[0] + 1, {"TEXT": node.text().splitlines()[0]}, span[1] + 1, (span[2] + 1, span[3] + 1))


def _utility(word: str, texts: set[str]) -> Any:
    """The ast-grep utility of that name: an expression that reads like one of these (escaped) texts."""
    regex = f"^(?:{'|'.join(sorted(texts))})$" if texts else NOTHING
    in_parentheses = {"kind": "parenthesized_expression", "has": {"matches": word}}
    return {"any": [{"any": SHAPES, "regex": regex}, in_parentheses]}


def _span(node: SgNode) -> Span:
    where = node.range()
    return where.start.line, where.start.column, where.end.line, where.end.column


def _called(node: SgNode) -> SgNode:
    """The call of a function, where it is called."""
    parent = node.parent()
    function = parent.field("function") if parent is not None and parent.kind() == "call" else None
    return parent if parent is not None and function is not None and function.range() == node.range() else node


def _stands_for(node: SgNode, match: Any, named: Any, spans: dict[str, set[Span]]) -> bool:
    """Whether what matches still does by those of its parts alone that stand for one of the names.

    `self.act = F.relu` changes nothing of torch's, although `self.act(x)` elsewhere in the file calls torch.
    """
    standing: dict[str, set[str]] = {}
    certain = True
    for word in named:
        query: Any = {"rule": {"matches": word}, "utils": named}
        for part in node.find_all(query):
            texts = standing.setdefault(word, set())
            if _span(part) in spans[word]:
                texts.add(re.escape(part.text()))
            else:
                certain = False
    if certain or not standing:
        return True  # without `standing`, no part of this match has to be a name
    if not any(standing.values()):
        return False
    narrowed = {word: _utility(word, standing[word]) if word in standing else named[word] for word in named}
    again: Any = {"rule": match, "utils": narrowed}
    found = node.find(again)
    return found is not None and _span(found) == _span(node)


def _needs_a_name(match: Any) -> bool:
    """Whether nothing can match that is not one of the names of `where`."""
    if not isinstance(match, dict):
        return False
    return (
        "matches" in match
        or any(_needs_a_name(match[key]) for key in ("has", "inside") if key in match)
        or any(map(_needs_a_name, match.get("all", ())))
        or ("any" in match and all(map(_needs_a_name, match["any"])))
    )


# --- Exceptions that rules name by `allow` ---


def _refused(node: SgNode, source: Source, profile: Profile) -> bool:
    """The string stands only in the condition of an `if` that does nothing but raise when a value equals it."""
    start = node.range().start
    for candidate in source.every(ast.If):
        if len(candidate.body) != 1:
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


ALLOWANCES: dict[str, Callable[[SgNode, Source, Profile], bool]] = {
    "refused": _refused,
}
ALL_RULES = _read_rules()
