"""How statements end: by an exception, by an exit with an error, or by going on."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from scorer.rules.source import Source

EXITS = {"sys.exit", "os._exit", "os.abort", "builtins.exit", "builtins.quit"}


def always_raises(source: Source, body: Sequence[ast.AST]) -> bool:
    """Whether control cannot pass the end of these statements: an exception or an exit with an error ends the run."""
    last = body[-1] if body else None
    if jump(body[:-1]) is not None:
        return False  # if "tile" in str(error): return plain(x)
    if isinstance(last, ast.If):
        return always_raises(source, last.body) and always_raises(source, last.orelse)
    if isinstance(last, ast.Match):
        whole = any(
            isinstance(c.pattern, ast.MatchAs) and c.pattern.pattern is None and not c.guard for c in last.cases
        )
        return whole and all(always_raises(source, case.body) for case in last.cases)
    if isinstance(last, ast.With):
        return always_raises(source, last.body)
    return isinstance(last, ast.Raise) or (isinstance(last, ast.Expr) and exits_with_error(source, last.value))


def exits_with_error(source: Source, node: ast.expr) -> bool:
    """Whether an expression ends the process with a status other than that of success."""
    if not isinstance(node, ast.Call):
        return False
    full = source.resolve(node.func)
    if full == "os.abort":
        return True
    if full not in EXITS:
        return False
    return len(node.args) == 1 and not (isinstance(node.args[0], ast.Constant) and node.args[0].value in (None, 0))


def jump(body: Sequence[ast.AST], in_loop: bool = False) -> ast.stmt | None:
    """The first statement by which a block is left before its end; a `finally` drops the exception on its way then."""
    for statement in body:
        if isinstance(statement, ast.Return) or (isinstance(statement, (ast.Break, ast.Continue)) and not in_loop):
            return statement
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        if isinstance(statement, (ast.For, ast.AsyncFor, ast.While)):
            found = jump(statement.body, True) or jump(statement.orelse, in_loop)
        else:
            children = ast.iter_child_nodes(statement)
            blocks = [c for c in children if isinstance(c, (ast.stmt, ast.ExceptHandler, ast.match_case))]
            found = jump(blocks, in_loop)
        if found:
            return found
    return None
