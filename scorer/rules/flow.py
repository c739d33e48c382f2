"""Checks of what runs when: after the process group was made."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from scorer.artifact import Artifact
from scorer.contest import Profile
from scorer.rules.environment import settings
from scorer.rules.source import Function, Hit, Source

PROCESS_GROUP = {"torch.distributed.init_process_group"}


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
