"""Where the recipe can be changed so that a run may show it, and which changes a session tries."""

from __future__ import annotations

import ast
import itertools
import random
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType

from parity_tests.mutants.mutators import MUTATORS, Edit, Tree

ROOT = Path(__file__).parents[2]
OWN_RUNNER = ("recipe/__main__.py", "recipe/evaluate.py")
"""What the local lane runs and no artifact holds."""


@dataclass(frozen=True)
class Mutant:
    """One change of one file."""

    file: str
    mutator: str
    edit: Edit
    before: str  # the first line that changes, without its indentation
    after: str
    function: tuple[int, int]  # lines of the innermost function around it, of the statement where there is none

    @property
    def name(self) -> str:
        """How a person calls it: unique within the recipe but for equal changes of equal text on one line."""
        return f"{self.file}:{self.edit.span[0]}:{self.mutator}"

    def text(self) -> str:
        """The changed file."""
        return self.edit.apply((ROOT / self.file).read_text("utf-8"))


def candidates(places: Collection[tuple[str, int]]) -> list[Mutant]:
    """Every mutant of the recipe's lines at `places` (file, line), in the order of the files and of their text."""
    files = sorted({file for file, _ in places} | set(OWN_RUNNER))
    found = []
    for file in files:
        source = (ROOT / file).read_text("utf-8")
        lines = {line for name, line in places if name == file}
        for mutant in of_source(file, source):
            if file in OWN_RUNNER or mutant.edit.span[0] in lines:
                found.append(mutant)
    return found


def of_source(file: str, source: str) -> Iterator[Mutant]:
    """Every mutant of one text that parses and compiles to other code; equal ones once."""
    tree = Tree(source)
    clean = _same(compile(source, file, "exec", dont_inherit=True))
    seen: set[str] = set()
    for node in ast.walk(tree.root):
        if not _may_change(tree, node):
            continue
        for name, mutator in MUTATORS.items():
            for edit in mutator(tree, node):
                changed = None if edit is None else edit.apply(source)
                if edit is None or changed is None or changed in seen or _other_lines(source, changed):
                    continue
                seen.add(changed)
                try:
                    code = compile(changed, file, "exec", dont_inherit=True)
                except SyntaxError:
                    continue
                if _same(code) != clean:
                    yield Mutant(file, name, edit, *_lines(source, changed), _function(tree, node, edit))


def sample(mutants: Iterable[Mutant], seed: int) -> list[Mutant]:
    """All of them in an order that takes one of each file and mutator in turn, each group's own in a random order."""
    groups: dict[tuple[str, str], list[Mutant]] = {}
    for mutant in mutants:
        groups.setdefault((mutant.file, mutant.mutator), []).append(mutant)
    for key, group in groups.items():
        random.Random(f"{seed} {key}").shuffle(group)
    order = sorted(groups)
    random.Random(seed).shuffle(order)
    turns = itertools.zip_longest(*(groups[key] for key in order))
    return [mutant for turn in turns for mutant in turn if mutant is not None]


def _may_change(tree: Tree, node: ast.AST) -> bool:
    """Whether a change of this node may show: none of types, of texts that are printed, of errors that are raised."""
    current: ast.AST | None = node
    while current is not None:
        parent = tree.parent(current)
        if isinstance(
            current, ast.Raise | ast.Assert | ast.JoinedStr | ast.ExceptHandler | ast.Import | ast.ImportFrom
        ):
            return False
        if isinstance(current, ast.If) and all(isinstance(one, ast.Raise) for one in current.body):
            return False
        if isinstance(parent, ast.AnnAssign) and current is parent.annotation:
            return False
        if isinstance(parent, ast.arg | ast.FunctionDef) and current in (
            getattr(parent, "annotation", None),
            getattr(parent, "returns", None),
        ):
            return False
        current = parent
    return True


def _same(code: CodeType) -> tuple[object, ...]:
    """What two code objects share that do the same: all but their lines."""
    constants = tuple(_same(one) if isinstance(one, CodeType) else (type(one), one) for one in code.co_consts)
    return code.co_code, constants, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars


def _other_lines(source: str, changed: str) -> bool:
    return source.count("\n") != changed.count("\n")


def _lines(source: str, changed: str) -> tuple[str, str]:
    pairs = zip(source.splitlines(), changed.splitlines(), strict=True)
    return next((before.strip(), after.strip()) for before, after in pairs if before != after)


def _function(tree: Tree, node: ast.AST, edit: Edit) -> tuple[int, int]:
    function = tree.around(node, ast.FunctionDef)
    if not isinstance(function, ast.FunctionDef):
        return edit.span
    first = min([function.lineno, *(one.lineno for one in function.decorator_list)])
    return first, function.end_lineno or function.lineno
