"""Checks of what runs when: under `__main__` and not on import, and after the process group was made."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from scorer.artifact import Artifact
from scorer.contest import Profile
from scorer.rules.environment import settings
from scorer.rules.source import Function, Hit, Source

PROCESS_GROUP = {"torch.distributed.init_process_group"}
# What may stand under the guard besides the file's own functions.
UNDER_GUARD = ("builtins.", "sys.exit", "argparse.", "sys.argv")
GROUP_END = {"torch.distributed.is_initialized", "torch.distributed.destroy_process_group"}


def main_guard(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """Under `if __name__ == "__main__":` nothing but calls of the file's own functions: the scorer imports the file."""
    guards = _guards(source)
    read_elsewhere = _names_read_in_functions(source) if guards else set()
    for guard in guards:
        for statement in [*guard.body, *guard.orelse]:
            reason = _beyond_calling(source, statement, read_elsewhere)
            if reason:
                yield Hit(statement.lineno, {"REASON": reason})


def name_tests(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """Nothing but the guard at the end may ask under which name the file runs."""
    guards = {id(guard.test) for guard in _guards(source)}
    lines: set[int] = set()
    for node in source.nodes:
        if id(node) in guards or (isinstance(node, ast.If) and id(node.test) in guards):
            continue
        for asked in _asked(node):
            if any(isinstance(inner, ast.Name) and inner.id == "__name__" for inner in ast.walk(asked)):
                lines.add(asked.lineno)
    yield from map(Hit, sorted(lines))


def _asked(node: ast.AST) -> list[ast.expr]:
    """The expressions whose value a node looks into: a condition, what is compared, `__name__` before `.` or `[`."""
    if isinstance(node, ast.Compare):
        return [node]
    if isinstance(node, (ast.If, ast.IfExp, ast.While)):
        return [node.test]
    if isinstance(node, ast.Match):
        return [node.subject]
    if isinstance(node, ast.Subscript):
        return [node.value, node.slice]
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return [node.value]
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name):
        return [node.value]  # under another name it can be asked unseen
    return []


def late_environment(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """A variable that matters must be set before the process group exists; afterwards nobody reads it again."""
    yield from _Walk(source, profile).run()


class _Walk:
    """Follows the file's own functions in the order in which the program calls them, each once."""

    def __init__(self, source: Source, profile: Profile) -> None:
        self._source, self._profile = source, profile
        self._made_at = 0  # line that made the process group
        self._seen: set[str] = set()
        self._set_by: dict[int, list[str]] = {}
        for setting in settings(source):
            self._set_by.setdefault(id(setting.node), []).append(setting.name)

    def run(self) -> Iterator[Hit]:
        for statement in self._source.tree.body:
            if not isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                yield from self._visit(statement)
        yield from self._enter("main")

    def _enter(self, name: str) -> Iterator[Hit]:
        function = self._source.top_level.get(name)
        if isinstance(function, Function) and name not in self._seen:
            self._seen.add(name)
            for statement in function.body:
                yield from self._visit(statement)

    def _visit(self, node: ast.AST) -> Iterator[Hit]:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            return
        for child in ast.iter_child_nodes(node):
            yield from self._visit(child)
        for variable in self._set_by.get(id(node), ()) if self._made_at else ():
            if variable == "" or self._profile.environment.effect(variable) is not None:
                yield self._source.hit(node, NAME=variable or "variables", GROUP=str(self._made_at))
                break
        if isinstance(node, ast.Call):
            full = self._source.resolve(node.func)
            if full in PROCESS_GROUP:
                self._made_at = node.lineno
            elif isinstance(node.func, ast.Name):
                yield from self._enter(node.func.id)


def _guards(source: Source) -> list[ast.If]:
    """Every `if __name__ == "__main__":` at the top level."""
    sides = {ast.dump(ast.Name("__name__", ast.Load())), ast.dump(ast.Constant("__main__"))}
    return [
        statement
        for statement in source.tree.body
        if isinstance(statement, ast.If)
        and isinstance(statement.test, ast.Compare)
        and isinstance(statement.test.ops[0], ast.Eq)
        and {ast.dump(side) for side in (statement.test.left, *statement.test.comparators)} == sides
    ]


def _names_read_in_functions(source: Source) -> set[str]:
    """Names that functions and methods read, other than their own parameters and variables."""
    names: set[str] = set()
    for function in source.functions:
        inner = [node for node in ast.walk(function) if isinstance(node, ast.Name)]
        own = {node.id for node in inner if isinstance(node.ctx, ast.Store)} | {
            node.arg for node in ast.walk(function.args) if isinstance(node, ast.arg)
        }
        names |= {node.id for node in inner if isinstance(node.ctx, ast.Load)} - own
    return names


def _beyond_calling(source: Source, statement: ast.stmt, read_elsewhere: set[str]) -> str | None:
    """What a statement under the guard does beyond calling the file's own functions; None: nothing."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return f"defines {statement.name}"
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        names = {(alias.asname or alias.name).partition(".")[0] for alias in statement.names}
        return f"imports {', '.join(sorted(names))}, which functions read" if names & read_elsewhere else None
    if isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
        for target in statement.targets if isinstance(statement, ast.Assign) else [statement.target]:
            for node in ast.walk(target):
                if isinstance(node, (ast.Attribute, ast.Subscript)):
                    return f"changes {ast.unparse(target)}"
                if isinstance(node, ast.Name) and node.id in read_elsewhere:
                    return f"sets {node.id}, which functions read"
    for node in ast.walk(statement):
        if isinstance(node, ast.Call):
            full = source.resolve(node.func)
            if full and not full.startswith(UNDER_GUARD) and full not in GROUP_END:
                return f"calls {full}"
    return None
