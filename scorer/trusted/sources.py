"""Places in a submission's source that a finding can name: found in its syntax tree, mapped to the recipe."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from functools import cached_property
from typing import Any

from scorer.artifact import Artifact
from scorer.contest import Profile
from scorer.findings import Finding, finding


class Source:
    """The syntax tree of one train.py, read with the names that its contest gives to things."""

    def __init__(self, artifact: Artifact, profile: Profile) -> None:
        self.artifact, self._profile = artifact, profile
        try:
            self.tree = ast.parse(artifact.source)
        except SyntaxError:  # the import says so, with its line
            self.tree = ast.Module(body=[], type_ignores=[])

    def raise_at(self, code: str, message: str, line: int | None, **fields: Any) -> Finding:
        """A finding of the trusted lane at a line of train.py, with its place in the recipe."""
        place = self.artifact.place(line) if line is not None else None
        return finding(code, message, place=place, artifact_line=line, lane="trusted", **fields)

    def function(self, name: str) -> int | None:
        """Line of a module-level function's `def`."""
        return self._first(lambda node: isinstance(node, ast.FunctionDef) and node.name == name)

    def loader(self) -> int | None:
        """Line of the hook that gives the model to be scored."""
        return self.function(self._profile.evaluation.hook)

    def method(self, name: str) -> int | None:
        """Line of the first function of this name, wherever it is defined."""
        return self._first(lambda node: isinstance(node, ast.FunctionDef) and node.name == name)

    def save(self) -> int | None:
        """Line of the first `torch.save(...)`."""
        return self._first(lambda node: isinstance(node, ast.Call) and _dotted(node.func) == "torch.save")

    def call(self, name: str) -> int | None:
        """Line of the first call of a function or method of this name."""
        return self._first(lambda node: isinstance(node, ast.Call) and _dotted(node.func).split(".")[-1] == name)

    def mention(self, text: str) -> int | None:
        """Line of the first string, or part of one, that holds `text`."""
        return self._first(
            lambda node: isinstance(node, ast.Constant) and isinstance(node.value, str) and text in node.value
        )

    def training_branch(self) -> int | None:
        """Line of the first read of `self.training`."""
        return self._first(
            lambda node: isinstance(node, ast.Attribute) and node.attr == "training" and isinstance(node.ctx, ast.Load)
        )

    def replacement(self, name: str) -> int | None:
        """Line of the first assignment to an attribute of this name, or `setattr(..., "name", ...)`."""
        return self._first(
            lambda node: (
                (isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.ctx, ast.Store))
                or (
                    isinstance(node, ast.Call)
                    and _dotted(node.func) == "setattr"
                    and len(node.args) > 1
                    and isinstance(node.args[1], ast.Constant)
                    and node.args[1].value == name
                )
            )
        )

    def exit_handler(self) -> int | None:
        """Line of the first `atexit.register(...)`."""
        return self._first(lambda node: isinstance(node, ast.Call) and _dotted(node.func).endswith("atexit.register"))

    def descriptor_write(self) -> int | None:
        """Line of the first `os.write(...)`, `os.fdopen(...)` or use of `/proc/self/fd`."""
        return self._first(
            lambda node: (
                (isinstance(node, ast.Call) and _dotted(node.func) in ("os.write", "os.fdopen", "os.writev"))
                or (isinstance(node, ast.Constant) and isinstance(node.value, str) and "/proc/self/fd" in node.value)
            )
        )

    def environment_read(self) -> int | None:
        """Line of the first use of `environ` or `getenv`, or of the kit's question for rank and world size."""
        names = {"environ", "environb", "getenv", self._profile.kit.functions.ranks}
        return self._first(
            lambda node: (
                (isinstance(node, ast.Attribute) and node.attr in names)
                or (isinstance(node, ast.Name) and node.id in names)
            )
        )

    def own_name_or_directory(self) -> int | None:
        """Line of the first look at `__name__` outside of the main guard, at `__file__` or the working directory."""
        guards = {
            id(part)
            for node in self.tree.body
            if isinstance(node, ast.If) and isinstance(node.test, ast.Compare)
            for part in ast.walk(node.test)
        }
        return self._first(
            lambda node: (
                (isinstance(node, ast.Name) and node.id in ("__name__", "__file__") and id(node) not in guards)
                or (isinstance(node, ast.Attribute) and node.attr in ("getcwd", "cwd", "__name__", "__module__"))
            )
        )

    def class_line(self, name: str) -> int | None:
        """Line of a class of this name."""
        return self._first(lambda node: isinstance(node, ast.ClassDef) and node.name == name)

    def kept(self, qualified: str) -> int | None:
        """Line where a module's buffer, parameter or attribute is made: `register_buffer("name", ...)`, an assignment.

        `qualified` is the dotted name in the model, its last part is looked for. Outside `__init__` counts first for an
        attribute, since that is where it changes.
        """
        name = qualified.rpartition(".")[2]
        registered = self._first(
            lambda node: (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr in ("register_buffer", "register_parameter")
                and bool(node.args)
                and isinstance(node.args[0], ast.Constant)
                and node.args[0].value == name
            )
        )
        if registered is not None:
            return registered
        lines = [
            (function.name == "__init__", node.lineno)
            for function in ast.walk(self.tree)
            if isinstance(function, ast.FunctionDef)
            for node in ast.walk(function)
            if isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.ctx, ast.Store)
        ]
        return min(lines)[1] if lines else None

    def text(self, word: str) -> int | None:
        """Line of the first string, other than a docstring, that holds a word."""
        found = re.compile(rf"(?<![\w/]){re.escape(word)}(?![\w/])")
        documentation = {id(node.value) for node in self._nodes if isinstance(node, ast.Expr)}
        return self._first(
            lambda node: (
                isinstance(node, ast.Constant)
                and isinstance(node.value, str)
                and id(node) not in documentation
                and found.search(node.value) is not None
            )
        )

    def _first(self, wanted: Callable[[ast.AST], bool]) -> int | None:
        return next((node.lineno for node in self._nodes if wanted(node)), None)

    @cached_property
    def _nodes(self) -> list[Any]:
        """All nodes that have a line, by it."""
        return sorted((node for node in ast.walk(self.tree) if hasattr(node, "lineno")), key=lambda node: node.lineno)


def _dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return "<expression>"
