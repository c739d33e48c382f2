"""What a kit's source offers: names, constants and signatures, read from its syntax tree. Nothing of it is run.

    source = KitSource(directory / "prepare.py")
    source.missing(["evaluate_bpb"])          # names that it neither defines nor imports
    source.contradictions({"N": 8192})        # constants that are something else, with their lines
    source.uncallable({"evaluate_bpb": ...})  # functions that cannot be called as the contest calls them

Modules that lie beside the file and that it imports names from are followed.
"""

from __future__ import annotations

import ast
import contextlib
import operator
import platform
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from scorer.contest import KitCall

Node = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.expr | None


class KitSourceError(ValueError):
    """A file of the kit that is not Python; the message names it with its line."""


@dataclass(frozen=True)
class Definition:
    """Where a name comes from. `node` is its function, class or value; None where that lies outside of the kit."""

    path: Path
    line: int
    node: Node


class KitSource:
    """The names of one prepare.py, also those inside `if` and `try`. Raises KitSourceError."""

    def __init__(self, prepare: Path) -> None:
        self.prepare = prepare
        self.names = _definitions(prepare, {})

    def missing(self, symbols: Iterable[str]) -> list[str]:
        """Which of these names are not there, sorted."""
        return sorted(set(symbols) - self.names.keys())

    def contradictions(self, constants: Mapping[str, int]) -> list[str]:
        """`file:line: NAME is X, expected Y`, for each constant that the source states otherwise.

        Numbers and arithmetic of numbers are read; what is computed in other ways is left to whoever runs the kit.
        """
        problems = []
        for name, wanted in constants.items():
            defined = self.names.get(name)
            if defined is None or not isinstance(defined.node, ast.expr):
                continue
            found = _value(defined.node)
            if found is not None and found != wanted:
                problems.append(f"{defined.path}:{defined.line}: {name} is {found!r}, expected {wanted}")
        return problems

    def stating(self, constants: Mapping[str, int]) -> bytes | None:
        """The file's source with these values for those constants that it states otherwise; None where it states none.

        Raises KitSourceError for a constant that is no number in the file itself.
        """
        lines = self.prepare.read_bytes().splitlines(keepends=True)
        changed = False
        for name, wanted in constants.items():
            defined = self.names.get(name)
            node = defined.node if defined is not None and defined.path == self.prepare else None
            if defined is None or not isinstance(node, ast.Constant) or node.lineno != node.end_lineno:
                raise KitSourceError(f"{self.prepare}: {name} is no number of its own; a profile cannot set it")
            if node.value != wanted:
                line = lines[node.lineno - 1]
                lines[node.lineno - 1] = b"%s%d%s" % (line[: node.col_offset], wanted, line[node.end_col_offset :])
                changed = True
        return b"".join(lines) if changed else None

    def uncallable(self, functions: Mapping[str, KitCall]) -> list[str]:
        """`file:line: what it takes and what it is given`, for each function or method (`Class.method`).

        One whose definition lies in an installed package is left out: its source is not the kit's.
        """
        problems = []
        for name, wanted in functions.items():
            owner, _, method = name.rpartition(".")
            defined = self.names.get(owner or method)
            if defined is None:
                continue
            if owner:
                if not isinstance(defined.node, ast.ClassDef):
                    continue
                found, whole = self._method(defined, method)
                if found is None:
                    if whole:
                        problems.append(f"{defined.path}:{defined.line}: class {owner} has no method {method}")
                    continue
                defined = found
            if isinstance(defined.node, ast.FunctionDef | ast.AsyncFunctionDef):
                problem = _uncallable(defined.node, wanted, bound=bool(owner))
                if problem:
                    problems.append(f"{defined.path}:{defined.line}: {name} {problem}")
            elif isinstance(defined.node, ast.Constant):
                problems.append(f"{defined.path}:{defined.line}: {name} is {_shown(defined.node)}, expected a function")
        return problems

    def _method(self, owner: Definition, name: str) -> tuple[Definition | None, bool]:
        """A method of a class or of its bases, and whether all of those were looked at."""
        assert isinstance(owner.node, ast.ClassDef)
        for node in owner.node.body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name:
                return Definition(owner.path, node.lineno, node), True
            if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in node.targets):
                return Definition(owner.path, node.lineno, None), True
        whole = True
        for base in owner.node.bases:
            defined = self.names.get(base.id) if isinstance(base, ast.Name) else None
            if isinstance(base, ast.Name) and base.id == "object":
                continue
            if defined is None or not isinstance(defined.node, ast.ClassDef) or defined.node is owner.node:
                whole = False
                continue
            found, all_of_it = self._method(defined, name)
            if found is not None:
                return found, True
            whole = whole and all_of_it
        return None, whole


def _parse(path: Path) -> ast.Module:
    try:
        return ast.parse(path.read_bytes(), filename=str(path))
    except SyntaxError as error:
        raise KitSourceError(f"{path}:{error.lineno}: not Python {platform.python_version()}: {error.msg}") from error
    except ValueError as error:  # a NUL byte
        raise KitSourceError(f"{path}:1: not Python {platform.python_version()}: {error}") from error


def _definitions(path: Path, known: dict[Path, dict[str, Definition]]) -> dict[str, Definition]:
    """Top-level names of a module; `known` holds those of modules that were read or are being read."""
    if path in known:
        return known[path]
    names = known[path] = {}
    for node in _top_level(_parse(path).body):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names[node.name] = Definition(path, node.lineno, node)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                name = (alias.asname or alias.name).partition(".")[0]
                names[name] = Definition(path, node.lineno, None)
        elif isinstance(node, ast.ImportFrom):
            beside = _beside(path.parent, node.module)
            theirs = {} if beside is None else _definitions(beside, known)
            for alias in node.names:
                if alias.name == "*":
                    names |= {name: one for name, one in theirs.items() if not name.startswith("_")}
                elif alias.name in theirs:
                    names[alias.asname or alias.name] = theirs[alias.name]
                elif beside is None or _beside(beside.parent, alias.name):
                    names[alias.asname or alias.name] = Definition(path, node.lineno, None)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if isinstance(target, ast.Name):
                    value = node.value
                    same = names.get(value.id) if isinstance(value, ast.Name) else None
                    names[target.id] = same or Definition(path, node.lineno, value)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.setdefault(node.id, Definition(path, node.lineno, None))
    return names


def _top_level(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Every node that runs when the module is imported, in order; what functions and classes hold is theirs."""
    for node in body:
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            yield from _top_level(ast.iter_child_nodes(node))


def _beside(directory: Path, module: str | None) -> Path | None:
    """The file of a module that lies beside the kit's; None for an installed one."""
    if module is None:
        return None
    place = directory.joinpath(*module.split("."))
    return next((file for file in (place.with_suffix(".py"), place / "__init__.py") if file.is_file()), None)


_ARITHMETIC: dict[type[ast.operator], Callable[[int | float, int | float], int | float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
}


def _value(node: ast.expr) -> object:
    """The value of a literal or of arithmetic of numbers; None for everything else."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
        left, right = _value(node.left), _value(node.right)
        if isinstance(left, int | float) and isinstance(right, int | float):
            with contextlib.suppress(ZeroDivisionError):
                return _ARITHMETIC[type(node.op)](left, right)
    return None


def _uncallable(node: ast.FunctionDef | ast.AsyncFunctionDef, wanted: KitCall, bound: bool) -> str | None:
    """Why a function cannot be called with the contest's arguments: the required ones by position, in their order."""
    arguments = node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    static = any(isinstance(one, ast.Name) and one.id == "staticmethod" for one in node.decorator_list)
    skipped = 1 if bound and not static else 0
    names = [one.arg for one in positional][skipped:]
    by_position_only = max(0, len(arguments.posonlyargs) - skipped)
    needed = names[: max(0, len(names) - len(arguments.defaults))]
    needed += [
        one.arg for one, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if default is None
    ]
    count = len(wanted.required)
    opening = names[:count]
    agree = [
        index < by_position_only or name == wanted.required[index] for index, name in enumerate(opening)
    ]  # where only the position counts, the name may be any
    enough = len(opening) == count or arguments.vararg is not None
    unknown = [name for name in needed if name not in opening and name not in wanted.optional]
    if enough and all(agree) and not unknown:
        return None
    shown = [*names, *(f"*, {one.arg}" for one in arguments.kwonlyargs[:1])]
    shown += [one.arg for one in arguments.kwonlyargs[1:]]
    return f"takes ({', '.join(shown)}), the contest calls it with ({', '.join(wanted.required)})"


def _shown(node: ast.Constant) -> str:
    return repr(node.value)[:80]
