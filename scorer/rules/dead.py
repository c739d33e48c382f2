"""Checks of what does nothing: decided branches, unreached statements, idle arithmetic, leftovers."""

from __future__ import annotations

import ast
import itertools
import operator
from collections.abc import Callable, Iterator
from typing import Any

from scorer.artifact import Artifact
from scorer.contest import Profile
from scorer.rules.numerals import number
from scorer.rules.scopes import Binding, scopes
from scorer.rules.source import Function, Hit, Source
from scorer.rules.tree import BLOCKS

COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)
# Methods and functions of torch that are arithmetic: name -> the operator.
METHODS: dict[str, type[ast.operator]] = {"mul": ast.Mult, "add": ast.Add, "sub": ast.Sub, "div": ast.Div}
OF_SETS = "add"  # a method of sets, too


def decided_branch(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """Conditions whose answer the file itself says, and statements behind a return."""
    lines: dict[int, str] = {}
    for node in source.every(*BLOCKS, ast.IfExp):
        if isinstance(node, (ast.If, ast.IfExp, ast.While)):
            answer = _decided(source, node.test)
            if answer is False or (answer is True and not isinstance(node, ast.While)):
                lines.setdefault(node.test.lineno, ast.unparse(node.test).splitlines()[0])
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list):
                for statement, following in itertools.pairwise(block):
                    if isinstance(statement, LEAVES) and not _makes_generator(following):
                        lines.setdefault(following.lineno, ast.unparse(following).splitlines()[0])
                        break
    for line, text in sorted(lines.items()):
        yield Hit(line, {"TEXT": text})


def _makes_generator(statement: ast.stmt) -> bool:
    """`return; yield`: a function that yields nothing."""
    return isinstance(statement, ast.Expr) and isinstance(statement.value, (ast.Yield, ast.YieldFrom))


def _decided(source: Source, test: ast.expr) -> bool | None:
    """The answer of a condition that does not depend on the run; None: it does."""
    if isinstance(test, ast.Constant):
        return bool(test.value)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        answer = _decided(source, test.operand)
        return None if answer is None else not answer
    if isinstance(test, ast.BoolOp):
        answers = [_decided(source, value) for value in test.values]
        ends = isinstance(test.op, ast.Or)
        if ends in answers:
            return ends
        return None if None in answers else not ends
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and type(test.ops[0]) in COMPARISONS:
        left, right = _value(source, test.left), _value(source, test.comparators[0])
        comparable = left is not None and right is not None and isinstance(left, str) == isinstance(right, str)
        return COMPARISONS[type(test.ops[0])](left, right) if comparable else None
    if isinstance(test, ast.Name):
        value = _constant(source, test)
        return bool(value.value) if value is not None and isinstance(value.value, (bool, int, type(None))) else None
    return None


def _value(source: Source, node: ast.expr) -> Any:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.Name):
        value = _constant(source, node)
        return value.value if value is not None and isinstance(value.value, (str, int, float)) else None
    return number(source, node)


def _constant(source: Source, node: ast.Name) -> ast.Constant | None:
    """The constant of the module that a name in capitals means."""
    bound = scopes(source).of(node.id, node)
    if not node.id.isupper() or len(bound) != 1 or scopes(source).tests(bound[0]):
        return None
    return bound[0].value if isinstance(bound[0].value, ast.Constant) else None


def idle_arithmetic(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """Arithmetic whose result is what it started from."""
    lines: dict[int, str] = {}
    for node in source.every(ast.BinOp, ast.AugAssign, ast.UnaryOp, ast.Call):
        if _is_idle(source, node):
            lines.setdefault(getattr(node, "lineno", 1), ast.unparse(node).splitlines()[0])
    for line, text in sorted(lines.items()):
        yield Hit(line, {"TEXT": text})


def _is_idle(source: Source, node: ast.AST) -> bool:
    if isinstance(node, ast.BinOp):
        return _idle(node.op, node.left, node.right)
    if isinstance(node, ast.AugAssign):
        return _idle(node.op, node.target, node.value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return isinstance(node.operand, ast.UnaryOp) and isinstance(node.operand.op, ast.USub)
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if name.removesuffix("_") in METHODS and not node.keywords:
            full = source.resolve(node.func) or ""
            op = METHODS[name.removesuffix("_")]()
            if full.startswith("torch.") and len(node.args) == 2:
                return _idle(op, node.args[0], node.args[1])
            if not full and name != OF_SETS and isinstance(node.func, ast.Attribute) and len(node.args) == 1:
                return _idle(op, node.func.value, node.args[0])
    return False


def _idle(op: ast.operator, left: ast.expr, right: ast.expr) -> bool:
    if isinstance(left, ast.Compare) or isinstance(right, ast.Compare):
        return False  # (x > 0) * 1 makes a number of an answer
    if isinstance(op, ast.Mult):
        return (_is(left, 1) and not _literal(right)) or (_is(right, 1) and not _literal(left))
    if isinstance(op, ast.Add):
        return (_is(left, 0) and not _literal(right)) or (_is(right, 0) and not _literal(left))
    if isinstance(op, (ast.Div, ast.Pow)):
        return _is(right, 1) and not _literal(left)
    return isinstance(op, ast.Sub) and _is(right, 0) and not _literal(left)


def _is(node: ast.expr, value: int) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) in (int, float) and node.value == value


def _literal(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant)


def unused_definitions(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """Functions, classes and variables that nothing reads."""
    table = scopes(source)
    read: dict[tuple[int, str], list[ast.AST]] = {}
    for node in source.every(ast.Name):
        if not isinstance(node.ctx, ast.Store):
            key = table.key(node.id, node)
            if key is not None:
                read.setdefault(key, []).append(node)
    texts = {n.value for n in source.every(ast.Constant) if isinstance(n.value, str)}
    exported = {"main", *(hook.name for hook in profile.hooks)}
    hits: dict[int, str] = {}
    for key, bindings in table.bindings.items():
        name = key[1]
        if name in exported or name.startswith("_") or (name in texts and key[0] == id(source.tree)):
            continue
        own = [source.scopes.span(b.node) for b in bindings if isinstance(b.node, Function)]
        places = map(source.scopes.place, read.get(key, ()))
        if any(not any(first <= place < last for first, last in own) for place in places):
            continue
        if all(_may_be_left(source, binding, key[0]) for binding in bindings):
            continue
        hits.setdefault(getattr(bindings[0].node, "lineno", 1), name)
    for line, name in sorted(hits.items()):
        yield Hit(line, {"NAME": name})


def _may_be_left(source: Source, binding: Binding, scope: int) -> bool:
    """Whether a binding may stay though nothing reads it: an import has its own rule, a loop needs its variable."""
    node = binding.node
    if binding.parameter or isinstance(node, (ast.Import, ast.ImportFrom, ast.ExceptHandler)):
        return True
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return bool(node.decorator_list) or bool(isinstance(node, ast.ClassDef) and node.keywords)
    if isinstance(source.parent(source.parent(node) or node), ast.ClassDef):
        return True
    if not binding.whole or binding.value is None or isinstance(source.parent(node), (ast.withitem, ast.AugAssign)):
        return True
    text = isinstance(binding.value, ast.Constant) and isinstance(binding.value.value, str)
    return text and scope == id(source.tree)  # a version, a title: it may be there for readers


def repeated_keys(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """A key, a field, an option or a function that is given twice: the last one wins."""
    for node in source.every(ast.Dict, ast.Module, ast.ClassDef):
        if isinstance(node, ast.Dict):
            seen: set[Any] = set()
            for key in node.keys:
                if isinstance(key, ast.Constant):
                    if (type(key.value), key.value) in seen:
                        yield Hit(key.lineno, {"NAME": repr(key.value)})
                    seen.add((type(key.value), key.value))
        elif isinstance(node, (ast.Module, ast.ClassDef)):
            defined: dict[str, ast.stmt] = {}
            for statement in node.body:
                for name in _defines(statement):
                    if name in defined:
                        yield Hit(statement.lineno, {"NAME": name})
                    defined[name] = statement


def _defines(statement: ast.stmt) -> list[str]:
    """Names that a statement defines for good: functions and classes without decorators, fields."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return [] if statement.decorator_list else [statement.name]
    if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
        return [statement.target.id]
    return []
