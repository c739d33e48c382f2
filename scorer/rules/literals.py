"""Checks of numbers in the code: knobs that a kernel repeats instead of reading, and numbers that nothing explains."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from scorer.artifact import Artifact
from scorer.contest import Profile
from scorer.rules.kernels import kernels
from scorer.rules.source import Function, Hit, Source

LARGEST_TILE = 2048  # powers of two up to it are sizes of tiles as often as anything else
COMMON = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 24, 60, 100, 1000, 3600, 1_000_000, 1e9, 1024**3, 1024**2, 255}
DIGITS = 3  # significant digits from which on a number says something of its own
NAMED_BY = re.compile(r"seed|sleep|view|reshape|arange|range|zeros|ones|empty|full", re.IGNORECASE)


def unread_knobs(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """A number that stands in a kernel and, as a knob, outside of it: changing the knob does not change the kernel."""
    table = kernels(source)
    if not table.exist:
        return
    knobs = _knobs(source, table.inside_kernels)
    given: dict[int, set[str | None]] = {}  # kernel -> arguments that launches name
    for node in source.every(ast.Call):
        if node.keywords and id(node) not in table.inside_kernels:
            kernel = table.definition(node.func)
            if kernel is not None:
                given.setdefault(id(kernel), set()).update(keyword.arg for keyword in node.keywords)
    for function in source.functions:
        if function not in table.jitted:
            continue
        read = {n.id for n in source.walk(function) if isinstance(n, ast.Name)}
        for parameter, default in _defaults(function):
            if (
                parameter not in given.get(id(function), ())
                and isinstance(default, ast.Constant)
                and _key(default) in knobs
            ):
                yield _repeated(default, function, knobs[_key(default)])
        for statement in function.body:
            for constant in source.inside(statement, ast.Constant):
                if _key(constant) in knobs and read.isdisjoint(knobs[_key(constant)]):
                    yield _repeated(constant, function, knobs[_key(constant)])


def _repeated(node: ast.Constant, kernel: Function, knobs: list[str]) -> Hit:
    return Hit(node.lineno, {"VALUE": repr(node.value), "KERNEL": kernel.name, "KNOB": " and ".join(knobs)})


def _defaults(function: Function) -> Iterator[tuple[str, ast.expr]]:
    arguments = function.args
    names = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
    yield from zip(names[len(names) - len(arguments.defaults) :], arguments.defaults, strict=True)
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        if default is not None:
            yield argument.arg, default


def _key(node: ast.Constant) -> float | None:
    """The number of a literal that is worth comparing."""
    value = node.value
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value in COMMON:
        return None
    if isinstance(value, float) and value in (0.5, 0.25, 0.1, 0.01):
        return None
    if isinstance(value, int) and value & (value - 1) == 0 and value <= LARGEST_TILE:
        return None
    return float(value)


def _knobs(source: Source, inside_kernels: set[int]) -> dict[float | None, list[str]]:
    """Number -> the knobs that have it: fields' defaults, constants, options, keywords that a class is made with."""
    found: dict[float | None, list[str]] = {}
    for node in source.every(ast.AnnAssign, ast.Assign, ast.Call):
        if id(node) in inside_kernels:
            continue
        pairs: list[tuple[str, ast.expr | None]] = []
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            pairs = [(node.target.id, node.value)]
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id.isupper():
            pairs = [(node.targets[0].id, node.value)]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id[:1].isupper():
            pairs = [(k.arg, k.value) for k in node.keywords if k.arg]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "add_argument":
            name = node.args[0].value if node.args and isinstance(node.args[0], ast.Constant) else ""
            pairs = [(str(name), k.value) for k in node.keywords if k.arg == "default"]
        for name, value in pairs:
            if isinstance(value, ast.Constant) and _key(value) is not None:
                names = found.setdefault(_key(value), [])
                names += [name] if name not in names else []
    return found


def magic_numbers(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """Numbers of three digits and more in the middle of a formula, without a name and without a comment."""
    lines: dict[int, str] = {}
    for function in source.functions:
        for node in source.walk(function):
            if isinstance(node, ast.Constant) and _is_magic(node) and not _is_explained(source, node):
                lines.setdefault(node.lineno, repr(node.value))
    for line, text in sorted(lines.items()):
        yield Hit(line, {"VALUE": text})


def _is_magic(node: ast.Constant) -> bool:
    value = node.value
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value in COMMON or value != value:
        return False
    if isinstance(value, int) and (value & (value - 1) == 0 or value & (value + 1) == 0 or value % 100 == 0):
        return False
    written = str(abs(value)) if isinstance(value, int) else f"{abs(value):.15g}"  # an int may be too large for .15g
    digits = written.partition("e")[0].replace(".", "").strip("0")
    return len(digits) >= DIGITS


def _is_explained(source: Source, node: ast.Constant) -> bool:
    """Whether a number has a name (an assignment, a keyword, a default) or a comment on its line or above it."""
    line = source.lines[node.lineno - 1]
    above = source.lines[node.lineno - 2].strip() if node.lineno > 1 else ""
    if "#" in line or above.startswith("#"):
        return True
    inner: ast.AST = node
    around = source.parent(node)
    while around is not None and not isinstance(around, ast.stmt):
        if isinstance(around, (ast.keyword, ast.JoinedStr, ast.arguments, ast.Dict)):
            return True
        if isinstance(around, ast.Call) and NAMED_BY.search(ast.unparse(around.func)):
            return True
        inner, around = around, source.parent(around)
    if isinstance(around, (ast.Assert, ast.Raise)):
        return True
    if isinstance(around, (ast.Assign, ast.AnnAssign)):
        whole = inner if not isinstance(inner, (ast.Tuple, ast.List, ast.UnaryOp)) else node
        return whole is node  # the whole value, or an element of a tuple of them: the target names it
    return isinstance(around, Function) and inner is around.args
