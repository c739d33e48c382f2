"""Checks of switches: options that nothing reads, that must agree with each other, that continue an earlier run."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from scorer.artifact import Artifact
from scorer.contest import Profile
from scorer.rules.endings import always_raises
from scorer.rules.modes import SETTINGS
from scorer.rules.reach import reach
from scorer.rules.scopes import scopes
from scorer.rules.source import Function, Hit, Source

RECORDS = {"dataclasses.dataclass", "attrs.define", "attrs.frozen", "attr.s"}
RECORD_BASES = {"typing.NamedTuple", "typing.TypedDict", "types.SimpleNamespace"}
WHOLE = {"builtins.vars", "dataclasses.asdict", "dataclasses.astuple", "dataclasses.fields", "dataclasses.replace"}
REFUSES = {"error", "exit", "fail"}  # parser.error(...)
RESUMES = ("resume", "restore_from", "continue_from", "init_from", "restart_from", "load_checkpoint_from")


def unread_options(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """Fields of records and options of the command line that the file never looks at."""
    read = {n.attr for n in source.every(ast.Attribute) if isinstance(n.ctx, ast.Load)}
    texts = {n.value for n in source.every(ast.Constant) if isinstance(n.value, str)}
    whole = any(
        source.resolve(n.func) in WHOLE or (isinstance(n.func, ast.Attribute) and n.func.attr == "_asdict")
        for n in source.every(ast.Call)
    )
    if whole or "__dict__" in read:
        return
    for node in source.every(ast.ClassDef, ast.Call):
        if isinstance(node, ast.ClassDef) and _is_record(source, node):
            for field in node.body:
                name = (
                    field.target.id if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) else ""
                )
                if name and name not in read and name not in texts and field.value is not None:  # type: ignore[attr-defined]
                    yield Hit(field.lineno, {"NAME": name})
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "add_argument":
            name = _destination(node)
            if name and name not in read and name not in texts - {name.replace("_", "-")}:
                yield Hit(node.lineno, {"NAME": name})


def _is_record(source: Source, node: ast.ClassDef) -> bool:
    decorators = [d.func if isinstance(d, ast.Call) else d for d in node.decorator_list]
    return any(source.resolve(d) in RECORDS for d in decorators) or any(
        source.resolve(base) in RECORD_BASES for base in node.bases
    )


def _destination(call: ast.Call) -> str:
    """The attribute under which argparse keeps an option; "" where it cannot be told."""
    for keyword in call.keywords:
        if keyword.arg == "dest":
            return str(keyword.value.value) if isinstance(keyword.value, ast.Constant) else ""
        if (
            keyword.arg == "action"
            and isinstance(keyword.value, ast.Constant)
            and keyword.value.value in ("help", "version")
        ):
            return ""
    names = [a.value for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    long = [name for name in names if name.startswith("--")]
    chosen = (long or names or [""])[0]
    return chosen.lstrip("-").replace("-", "_")


def options_that_must_agree(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """Settings that are refused unless another setting fits them."""
    for node in source.every(ast.Assert, ast.If):
        if isinstance(node, ast.If) and not _refuses(source, node.body):
            continue
        settings = sorted({name for part in _flags(node.test) if (name := _setting(source, part))})
        if len(settings) >= 2:
            yield Hit(node.lineno, {"NAMES": " and ".join(settings)})


def _refuses(source: Source, body: list[ast.stmt]) -> bool:
    last = body[-1]
    call = last.value if isinstance(last, ast.Expr) else None
    by_parser = isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in REFUSES
    return by_parser or always_raises(source, body)


def _flags(test: ast.expr) -> list[ast.expr]:
    """What a condition asks yes or no, or compares as equal: not what it calculates with."""
    if isinstance(test, ast.BoolOp):
        return [flag for value in test.values for flag in _flags(value)]
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _flags(test.operand)
    if isinstance(test, ast.Compare):
        equal = all(isinstance(op, (ast.Eq, ast.NotEq, ast.Is, ast.IsNot, ast.In, ast.NotIn)) for op in test.ops)
        return [test.left, *test.comparators] if equal else []
    return [test]


def _setting(source: Source, node: ast.expr) -> str | None:
    """The name of a setting: a field of a configuration, or a constant of the module."""
    if isinstance(node, ast.Attribute):
        base = node.value.attr if isinstance(node.value, ast.Attribute) else getattr(node.value, "id", "")
        return f"{base}.{node.attr}" if SETTINGS.search(base) else None
    if isinstance(node, ast.Name) and node.id.isupper() and scopes(source).key(node.id, node) is not None:
        imported = any(isinstance(b.node, (ast.Import, ast.ImportFrom)) for b in scopes(source).of(node.id, node))
        return None if imported else node.id
    return None


def resume_code(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """Code that continues an earlier run."""
    hooks = [f for hook in profile.hooks if isinstance(f := source.top_level.get(hook.name), Function)]
    for_scoring = {id(f) for hook in hooks for f in (hook, *reach(source).called_from(hook))}
    lines: dict[int, str] = {}
    for node in source.every(ast.FunctionDef, ast.AsyncFunctionDef, ast.arg, ast.Name, ast.Call):
        name = ""
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            name = node.name
        elif isinstance(node, ast.arg):
            name = node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            name = node.id
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "add_argument":
            name = _destination(node)
        if name.lower().strip("_").startswith(RESUMES):
            lines.setdefault(getattr(node, "lineno", 1), name)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            held = node.func.value
            text = held.attr if isinstance(held, ast.Attribute) else getattr(held, "id", "")
            optimizer = text.lower().startswith(("optim", "opt", "scheduler", "scaler")) or text.lower().endswith(
                "optimizer"
            )
            if node.func.attr == "load_state_dict" and optimizer:
                lines.setdefault(node.lineno, f"{text}.load_state_dict")
    for function in source.functions:
        if id(function) not in for_scoring and reach(source).trains(function):
            for call in source.inside(function, ast.Call):
                if source.resolve(call.func) == "torch.load":
                    lines.setdefault(call.lineno, "torch.load")
    for line, name in sorted(lines.items()):
        yield Hit(line, {"NAME": name})
