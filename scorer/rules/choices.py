"""Checks of how kernels are chosen. A kernel that cannot run must say so: nothing may take its place in silence."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from scorer.artifact import Artifact
from scorer.contest import Profile
from scorer.rules.conditions import Kind, conditions
from scorer.rules.endings import always_raises
from scorer.rules.kernels import Kernels, kernels
from scorer.rules.scopes import scopes
from scorer.rules.source import Hit, Source
from scorer.rules.tree import BLOCKS


@dataclass(frozen=True)
class Choice:
    """A place at which a kernel runs or something else does."""

    condition: ast.AST
    kernel: str
    other: str
    kinds: frozenset[Kind]


def shape_fallback(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """A condition on shapes, dtypes or values that chooses between a kernel and other computation."""
    yield from _hits(source, lambda kinds: Kind.SHAPE in kinds and Kind.MACHINE not in kinds)


def machine_choice(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """What the machine has, or whether something failed, chooses between a kernel and other computation."""
    yield from _hits(source, lambda kinds: Kind.MACHINE in kinds)


def device_choice(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """A condition on the device that chooses between a kernel and other computation."""
    yield from _hits(source, lambda kinds: Kind.DEVICE in kinds and not kinds & {Kind.SHAPE, Kind.MACHINE})


def step_choice(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """A kernel that takes over, or is given up, at some step: it is compiled within the charged time."""
    yield from _hits(source, lambda kinds: Kind.STEP in kinds and not kinds & {Kind.SHAPE, Kind.MACHINE, Kind.DEVICE})


def setting_choice(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """A setting that chooses between a kernel and other computation."""
    yield from _hits(source, lambda kinds: not kinds & {Kind.SHAPE, Kind.MACHINE, Kind.DEVICE, Kind.STEP})


def _hits(source: Source, wanted: object) -> Iterator[Hit]:
    for choice in _choices(source):
        if callable(wanted) and wanted(choice.kinds):
            words = {"CONDITION": _short(choice.condition), "CALL": choice.kernel, "OTHER": choice.other}
            yield Hit(getattr(choice.condition, "lineno", 1), words)


@lru_cache(maxsize=1)
def _choices(source: Source) -> list[Choice]:
    """Every choice with a kernel on exactly one side and other computation on the other; each place once."""
    table = kernels(source)
    found: dict[tuple[int, int], Choice] = {}
    if not table.exist:
        return []
    for block in _blocks(source):
        if id(block) in table.inside_kernels:
            continue
        for condition, *sides in _branches(source, table, block):
            for side, other in ((sides[0], sides[1]), (sides[1], sides[0])):
                kernel = table.used(side)
                if kernel and not table.used(other) and not always_raises(source, other) and _computes(source, other):
                    kinds = conditions(source).kinds(condition)
                    if kinds == {Kind.SETTING} and _asks_whether_given(condition):
                        continue
                    place = (getattr(condition, "lineno", 1), getattr(condition, "col_offset", 0))
                    found.setdefault(place, Choice(condition, kernel, _short(other[0]), kinds))
    return [found[place] for place in sorted(found)]


def _blocks(source: Source) -> Iterator[ast.AST]:
    """Every node that holds statements or chooses between expressions."""
    chooses = (ast.IfExp, ast.BoolOp, ast.Subscript, ast.Call, ast.Match, ast.comprehension)
    yield from source.every(*BLOCKS, *chooses)


CONDITIONAL_CALLS = {"torch.cond", "torch.ops.higher_order.cond", "functorch.experimental.control_flow.cond"}
Branch = tuple[ast.AST, Sequence[ast.AST], Sequence[ast.AST]]


def _branches(source: Source, table: Kernels, node: ast.AST) -> Iterator[Branch]:
    """(condition, what runs if it holds, what runs if not) of every choice that a node makes itself."""
    if isinstance(node, ast.IfExp):
        yield node.test, [node.body], [node.orelse]
    elif isinstance(node, ast.BoolOp):
        yield from _chain(node)
    elif isinstance(node, ast.Subscript):
        yield from _dispatch(source, table, node.value, node.slice)
    elif isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and node.func.attr == "get" and node.args:
            yield from _dispatch(source, table, node.func.value, node.args[0])
            for default in node.args[1:]:
                yield node.args[0], [node.func.value], [default]
        elif source.resolve(node.func) in CONDITIONAL_CALLS and len(node.args) >= 3:
            yield node.args[0], [node.args[1]], [node.args[2]]
    elif isinstance(node, ast.For):
        tests = [n.test for n in source.walk_all(node.body) if isinstance(n, (ast.If, ast.IfExp))]
        yield from _tried_in_turn(source, table, node.iter, tests)
    elif isinstance(node, ast.comprehension):
        yield from _tried_in_turn(source, table, node.iter, node.ifs)
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, None)
        if isinstance(block, list):
            for index, statement in enumerate(block):
                yield from _statement(source, statement, block[:index], block[index + 1 :])


def _statement(
    source: Source, statement: ast.AST, before: Sequence[ast.AST], after: Sequence[ast.AST]
) -> Iterator[Branch]:
    """The choice that an `if`, `while` or `match` makes.

    Where there is no `else`: what follows, if the branch leaves the block; or else what gave the branch's variables the
    values that they keep.
    """
    if isinstance(statement, (ast.If, ast.While)):
        if isinstance(statement, ast.If) and statement.orelse:
            yield statement.test, statement.body, statement.orelse
        elif _leaves(statement.body):
            yield statement.test, statement.body, after
        elif isinstance(statement, ast.If):
            changed = _stored(source, statement.body) - _read(
                source, statement.body
            )  # what it reads, it only works further on
            yield statement.test, statement.body, [s for s in before if _stored(source, [s]) & changed]
            if after:
                yield from _fallen_through(statement, after)
    elif isinstance(statement, ast.Match):
        for index, case in enumerate(statement.cases):
            others = [s for c in (*statement.cases[:index], *statement.cases[index + 1 :]) for s in c.body]
            yield statement.subject, case.body, others or after
            if _leaves(case.body) and after:
                yield statement.subject, case.body, after


def _fallen_through(statement: ast.If, after: Sequence[ast.AST]) -> Iterator[Branch]:
    """`if A: if B: return kernel(x)` and `return reference(x)` after it: B chooses, and so does A."""
    last = statement.body[-1]
    if isinstance(last, ast.If) and not last.orelse:
        inner = [(last.test, last.body, after)] if _leaves(last.body) else [*_fallen_through(last, after)]
        if inner:
            yield statement.test, inner[0][1], after
            yield from inner


def _leaves(body: Sequence[ast.AST]) -> bool:
    return bool(body) and isinstance(body[-1], (ast.Return, ast.Continue, ast.Break))


def _chain(node: ast.BoolOp) -> Iterator[Branch]:
    """`ok and kernel(x) or reference(x)`, `try_kernel(x) or reference(x)`."""
    if isinstance(node.op, ast.Or):
        for index in range(len(node.values) - 1):
            first, rest = node.values[index], node.values[index + 1 :]
            if isinstance(first, ast.BoolOp) and isinstance(first.op, ast.And):
                yield first.values[0], first.values[1:], rest
            else:
                yield first, [first], rest


def _dispatch(source: Source, table: Kernels, container: ast.AST, key: ast.AST) -> Iterator[Branch]:
    """`{True: kernel, False: reference}[fits](x)`, `IMPLEMENTATIONS[name](x)`."""
    if isinstance(key, (ast.Slice, ast.Constant)):
        return
    for values in _tables(source, container):
        carrying = [value for value in values if table.carried(value)]
        others = [value for value in values if not table.carried(value)]
        if carrying and others:
            yield key, carrying[:1], others[:1]


def _tables(source: Source, container: ast.AST) -> Iterator[list[ast.expr]]:
    """The values of a literal table, written here or held by a variable or an attribute."""
    literals: list[ast.AST | None] = [container]
    if isinstance(container, ast.Name):
        bound = scopes(source).of(container.id, container)
        literals = [b.value for b in bound if b.whole]
        filled: list[ast.expr] = [b.value for b in bound if not b.whole and isinstance(b.value, ast.expr)]
        if any(isinstance(b.node, ast.Name) and isinstance(b.node.ctx, ast.Load) for b in bound if not b.whole):
            yield filled  # table[key] = value, one by one
    elif isinstance(container, ast.Attribute) and container.attr in scopes(source).members:
        literals = [b.value for b in scopes(source).members[container.attr].values if b.whole]
    for literal in literals:
        if isinstance(literal, ast.Dict):
            yield literal.values
        elif isinstance(literal, (ast.Tuple, ast.List)):
            yield literal.elts


def _tried_in_turn(source: Source, table: Kernels, iterated: ast.AST, tests: Sequence[ast.expr]) -> Iterator[Branch]:
    """`for run in (kernel, reference): if run.fits(x): return run(x)`, as a loop or inside of brackets."""
    if isinstance(iterated, ast.Call) and isinstance(iterated.func, ast.Attribute) and not iterated.args:
        iterated = iterated.func.value  # table.values(), table.items()
    for values in _tables(source, iterated) if tests else ():
        flat = [inner for v in values for inner in (v.elts if isinstance(v, (ast.Tuple, ast.List)) else [v])]
        carrying = [value for value in flat if table.carried(value)]
        others = [value for value in flat if not table.carried(value) and _names_code(source, value)]
        if carrying and others:
            yield tests[0], carrying[:1], others[:1]


def _stored(source: Source, statements: Sequence[ast.AST]) -> set[str]:
    """Variables and attributes that these statements assign."""
    return {
        node.id if isinstance(node, ast.Name) else f".{node.attr}"
        for statement in statements
        for node in source.inside(statement, ast.Name, ast.Attribute)
        if isinstance(node.ctx, ast.Store)
    }


def _read(source: Source, statements: Sequence[ast.AST]) -> set[str]:
    """Variables and attributes that these statements read."""
    return {
        node.id if isinstance(node, ast.Name) else f".{node.attr}"
        for statement in statements
        for node in source.inside(statement, ast.Name, ast.Attribute)
        if isinstance(node.ctx, ast.Load)
    }


def _computes(source: Source, nodes: Sequence[ast.AST]) -> bool:
    """Whether these nodes do more than hand a value on: they compute, or name what computes."""
    for top in nodes:
        if isinstance(top, ast.expr) and _names_code(source, top):
            return True
        if source.inside(top, ast.Call, ast.BinOp):
            return True
        given = [node.value for node in source.inside(top, ast.Assign, ast.Return)]
        if any(value is not None and _names_code(source, value) for value in given):
            return True
    return False


def _names_code(source: Source, node: ast.AST) -> bool:
    """Whether an expression is a function or a class, by its name or written as a lambda."""
    table = scopes(source)
    if isinstance(node, ast.Lambda) or table.function(node) is not None:
        return True
    if isinstance(node, ast.Name) and any(isinstance(b.node, ast.ClassDef) for b in table.of(node.id, node)):
        return True
    full = source.resolve(node)
    return (
        full is not None
        and "." in full
        and not full.startswith(("torch.float", "torch.bfloat", "torch.int", "math.pi"))
    )


def _asks_whether_given(condition: ast.AST) -> bool:
    """`targets is None`: whether an argument was given, which is no choice of an implementation."""
    parts = condition.values if isinstance(condition, ast.BoolOp) else [condition]
    return any(
        isinstance(p, ast.Compare)
        and isinstance(p.ops[0], (ast.Is, ast.IsNot))
        and isinstance(p.comparators[0], ast.Constant)
        and p.comparators[0].value is None
        for p in parts
    )


def _short(node: ast.AST) -> str:
    return ast.unparse(node).splitlines()[0]
