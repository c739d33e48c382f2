"""Checks of names: read before anything gives them a value, or defined by themselves."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Sequence

from scorer.artifact import Artifact
from scorer.contest import Profile
from scorer.rules.scopes import scopes
from scorer.rules.source import Function, Hit, Source

MODULE_NAMES = {
    *("__name__", "__file__", "__doc__", "__spec__", "__loader__", "__package__", "__builtins__", "__debug__"),
    *("__path__", "__annotations__", "__dict__", "__class__", "__module__", "__qualname__", "__cached__"),
}
CHANGES_NAMES = {"builtins.globals", "builtins.exec", "builtins.locals", "builtins.vars"}
RECURSION = {"Exception", "BaseException", "RecursionError", "RuntimeError"}


def names_without_value(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """Names that nothing binds, and variables that are read to make their own first value (B9)."""
    tree = source.scopes
    dynamic = bool(tree.star_imports) or any(name in CHANGES_NAMES for name in source.named)
    seen: set[str] = set()
    for node in source.every(ast.Name):
        if dynamic or not isinstance(node.ctx, ast.Load):
            continue
        known = node.id in MODULE_NAMES or hasattr(builtins, node.id) or node.id in seen
        if known or id(node) in tree.merely_named or tree.scope(node).look_up(node.id) is not None:
            continue
        if not _expects_name_error(source, node):
            seen.add(node.id)
            yield Hit(node.lineno, {"NAME": node.id, "WHY": "nothing in the file defines it"})
    yield from _read_by_own_value(source)


def _expects_name_error(source: Source, node: ast.AST) -> bool:
    around = source.parent(node)
    while around is not None:
        if isinstance(around, ast.Try) and any("NameError" in ast.unparse(h.type) for h in around.handlers if h.type):
            return True
        around = source.parent(around)
    return False


def _read_by_own_value(source: Source) -> Iterator[Hit]:
    """`Block = model.Block()` where `Block` is read: a variable of the function, which has no value yet."""
    table = scopes(source)
    functions = {id(function) for function in source.functions}
    for (scope, name), bindings in table.bindings.items():
        if scope not in functions or len(bindings) != 1 or bindings[0].parameter or bindings[0].value is None:
            continue
        binding = bindings[0]
        value, parent = binding.value, source.parent(binding.node)
        if _in_loop(source, binding.node):
            continue  # a later round may read what an earlier one has stored
        if not isinstance(parent, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.For, ast.Tuple)):
            continue
        if isinstance(parent, ast.AugAssign) and isinstance(binding.node, ast.Name):
            yield Hit(
                binding.node.lineno, {"NAME": name, "WHY": "it is a variable of the function, without a value yet"}
            )
            continue
        later = (
            {id(n) for n in source.walk(value) if _is_later(n) for n in source.walk(n)} if value is not None else set()
        )
        for node in source.walk(value) if value is not None else ():
            reads = isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
            if reads and id(node) not in later and table.key(name, node) == (scope, name):
                yield Hit(node.lineno, {"NAME": name, "WHY": "it is a variable of the function, without a value yet"})  # type: ignore[attr-defined]
                break


def _in_loop(source: Source, node: ast.AST) -> bool:
    around = source.parent(node)
    while around is not None and not isinstance(around, (ast.FunctionDef, ast.AsyncFunctionDef)):
        if isinstance(around, (ast.For, ast.AsyncFor, ast.While)):
            return True
        around = source.parent(around)
    return False


def _is_later(node: ast.AST) -> bool:
    return isinstance(node, (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp))


def endless_recursion(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """Functions that do nothing but call themselves, by way of others or of an alias (B14)."""
    calls = {id(f): _unconditional(source, f.body) for f in source.functions}
    for function in source.functions:
        seen: set[int] = set()
        waiting = list(calls[id(function)])
        while waiting:
            called = waiting.pop()
            if called is function:
                yield Hit(function.lineno, {"NAME": function.name})
                break
            if id(called) not in seen:
                seen.add(id(called))
                waiting.extend(calls.get(id(called), ()))


def _unconditional(source: Source, body: Sequence[ast.stmt]) -> list[Function]:
    """The file's own functions that a body calls whatever happens, before it can end."""
    found: list[Function] = []
    for statement in body:
        if isinstance(statement, ast.Try):
            found.extend(_unconditional(source, statement.body))
            return found
        if isinstance(statement, ast.With):
            found.extend(_unconditional(source, statement.body))
            return found
        if not isinstance(statement, (ast.Expr, ast.Assign, ast.AnnAssign, ast.Return)) or statement.value is None:
            return found
        if source.inside(statement, ast.Yield, ast.YieldFrom, ast.Await):
            return found
        found.extend(_called(source, statement.value))
        if isinstance(statement, ast.Return):
            return found
    return found


def _called(source: Source, node: ast.expr) -> list[Function]:
    """The functions that an expression calls, whatever its conditions say."""
    if isinstance(node, ast.Call):
        own = scopes(source).function(node.func)
        inner = [f for a in (*node.args, *(k.value for k in node.keywords)) for f in _called(source, a)]
        return [*inner, *([own] if own is not None else [])]
    if isinstance(node, ast.BinOp):
        return [*_called(source, node.left), *_called(source, node.right)]
    if isinstance(node, (ast.Tuple, ast.List)):
        return [f for element in node.elts for f in _called(source, element)]
    if isinstance(node, (ast.Subscript, ast.Attribute, ast.Starred)):
        return _called(source, node.value)
    return []
