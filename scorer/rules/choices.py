"""Checks of how kernels are chosen. A kernel that cannot run must say so: nothing may take its place in silence."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from scorer.artifact import Artifact
from scorer.contest import Profile
from scorer.rules.applied import values
from scorer.rules.conditions import Kind, conditions
from scorer.rules.endings import always_raises
from scorer.rules.kernels import Kernels, kernels
from scorer.rules.scopes import scopes
from scorer.rules.source import Function, Hit, Source
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


# What picks from, or asks about each of, the functions of a table that it is given.
SELECTS = {
    *("builtins.max", "builtins.min", "builtins.filter", "builtins.sorted", "itertools.compress", "random.choice"),
    *("itertools.takewhile", "itertools.dropwhile", "itertools.filterfalse", "operator.getitem"),
}
TAKES = {"get", "pop", "__getitem__", "setdefault"}  # methods of a table: the key comes first
# What makes a table, or goes through one.
TABLES = {
    *("builtins.dict", "builtins.list", "builtins.tuple", "builtins.zip", "builtins.enumerate", "builtins.reversed"),
    *("builtins.sorted", "builtins.iter", "builtins.set", "builtins.frozenset", "collections.OrderedDict"),
    *("collections.deque", "types.MappingProxyType", "itertools.cycle", "itertools.chain", "itertools.zip_longest"),
    *("collections.defaultdict", "collections.ChainMap"),
}
LAYERS = {"torch.nn.ModuleList", "torch.nn.ModuleDict"}
NESTED = 4  # tables in tables that are looked through
FINITE = {"isfinite", "isnan", "isinf", "isposinf", "isneginf"}
CONDITIONAL_CALLS = {"torch.cond", "torch.ops.higher_order.cond", "functorch.experimental.control_flow.cond"}
Branch = tuple[ast.AST, Sequence[ast.AST], Sequence[ast.AST]]


def _branches(source: Source, table: Kernels, node: ast.AST) -> Iterator[Branch]:
    """(condition, what runs if it holds, what runs if not) of every choice that a node makes itself."""
    if isinstance(node, ast.IfExp):
        yield node.test, [node.body], [node.orelse]
        yield from _given_up(source, table, node.test, [node.body], [node.orelse])
    elif isinstance(node, ast.BoolOp):
        yield from _chain(node)
    elif isinstance(node, ast.Subscript):
        yield from _dispatch(source, table, node.value, node.slice)
        if isinstance(node.value, ast.Call) and source.resolve(node.value.func) == "builtins.globals":
            own = [source.top_level[text] for text in source.exact(node.slice) or () if text in source.top_level]
            yield from _apart(table, node.slice, own)
    elif isinstance(node, ast.Call):
        yield from _called(source, table, node)
    elif isinstance(node, ast.For):
        tests = [n.test for n in source.walk_all(node.body) if isinstance(n, (ast.If, ast.IfExp))]
        yield from _tried_in_turn(source, table, node.iter, tests)
    elif isinstance(node, ast.comprehension):
        yield from _tried_in_turn(source, table, node.iter, node.ifs)
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, None)
        if isinstance(block, list):
            for index, statement in enumerate(block):
                yield from _statement(source, table, statement, block[:index], block[index + 1 :])


def _called(source: Source, table: Kernels, node: ast.Call) -> Iterator[Branch]:
    """The choice that a call makes: of an entry of a table, of a method by its name, of one of two functions."""
    full = source.resolve(node.func)
    if isinstance(node.func, ast.Attribute) and node.func.attr in TAKES and node.args:
        yield from _dispatch(source, table, node.func.value, node.args[0])
        for default in node.args[1:]:
            yield node.args[0], [node.func.value], [default]
    elif full in CONDITIONAL_CALLS and len(node.args) >= 3:
        yield node.args[0], [node.args[1]], [node.args[2]]
    elif full == "torch.where" and len(node.args) == 3 and _asks_finite(source, node.args[0]):
        sides = [[one for one in values(source, side) if isinstance(one, ast.expr)] for side in node.args[1:]]
        yield node.args[0], sides[0], sides[1]
    elif full in SELECTS:
        given = [*node.args, *(keyword.value for keyword in node.keywords)]
        for argument in given:
            asked = next((other for other in given if other is not argument), node)
            yield from _dispatch(source, table, argument, asked)
    elif isinstance(node.func, ast.Call) and source.resolve(node.func.func) == "operator.itemgetter" and node.args:
        yield from _dispatch(source, table, node.args[0], *node.func.args[:1])
    elif full == "builtins.getattr" and len(node.args) > 1 and not isinstance(node.args[1], ast.Constant):
        yield from _by_name(source, table, node.args[1])
    elif full == "operator.methodcaller" and node.args and not isinstance(node.args[0], ast.Constant):
        yield from _by_name(source, table, node.args[0])


def _asks_finite(source: Source, node: ast.expr) -> bool:
    """`torch.isfinite(y)`, `~y.isnan()`: whether a kernel has failed without saying so."""
    named = [call.func for call in source.inside(node, ast.Call)]
    return any(getattr(callee, "attr", getattr(callee, "id", "")) in FINITE for callee in named)


def _by_name(source: Source, table: Kernels, name: ast.expr) -> Iterator[Branch]:
    """`getattr(self, "fast" if fits else "plain")(x)`, of a name that one condition makes."""
    known = [scopes(source).members[text] for text in source.exact(name) or () if text in scopes(source).members]
    yield from _apart(table, name, [method for held in known for method in held.methods])


def _apart(table: Kernels, name: ast.expr, functions: Sequence[ast.AST]) -> Iterator[Branch]:
    """The choice between functions of which some use a kernel."""
    carrying = [function for function in functions if table.used([function])]
    others = [function for function in functions if not table.used([function])]
    if carrying and others:
        yield name, carrying[:1], others[:1]


def _statement(
    source: Source, table: Kernels, statement: ast.AST, before: Sequence[ast.AST], after: Sequence[ast.AST]
) -> Iterator[Branch]:
    """The choice that an `if`, a loop that runs once or not at all, or a `match` makes.

    Where there is no `else`: what follows, if the branch leaves the block; or else what gave the branch's variables the
    values that they keep.
    """
    if isinstance(statement, ast.If):
        yield from _half_asked(source, table, statement, after)
        rest = statement.orelse or (after if _leaves(statement.body) else [])
        yield from _given_up(source, table, statement.test, statement.body, rest)
    asked = _asked(source, statement)
    if asked is not None and isinstance(statement, (ast.If, ast.While, ast.For, ast.AsyncFor)):
        leaves = _leaves(statement.body)
        if statement.orelse and (leaves or isinstance(statement, ast.If)):  # a loop's `else` runs where none has left
            yield asked, statement.body, statement.orelse
        elif leaves:
            yield asked, statement.body, after
        elif not isinstance(statement, ast.While):
            changed = _stored(source, statement.body) - _read(
                source, statement.body
            )  # what it reads, it only works further on
            yield asked, statement.body, [s for s in before if _stored(source, [s]) & changed]
            yield asked, statement.body, _given_outside(source, statement)
            if after and isinstance(statement, ast.If):
                yield from _fallen_through(statement, after)
    elif isinstance(statement, ast.Match):
        for index, case in enumerate(statement.cases):
            others = [s for c in (*statement.cases[:index], *statement.cases[index + 1 :]) for s in c.body]
            yield case.guard or statement.subject, case.body, others or after
            if _leaves(case.body) and after:
                yield case.guard or statement.subject, case.body, after


def _given_outside(source: Source, statement: ast.AST) -> list[ast.AST]:
    """What the module gives to the variables that a function's statement declares global and gives anew."""
    stored = [n for n in source.inside(statement, ast.Name) if isinstance(n.ctx, ast.Store)]
    others = [n for n in stored if n.id in source.scopes.scope(n).elsewhere]
    inner = {id(n) for n in others}
    return [
        b.value
        for name in others
        for b in scopes(source).of(name.id, name)
        if b.whole and b.value is not None and id(b.node) not in inner
    ]


def _given_up(
    source: Source, table: Kernels, test: ast.expr, body: Sequence[ast.AST], rest: Sequence[ast.AST]
) -> Iterator[Branch]:
    """`y = attempt(x)`, `if y is None: y = plain(x)`: the condition under which `attempt` gives None chooses."""
    absent = not isinstance(test, ast.UnaryOp)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        asked, absent = test.operand, True
    elif isinstance(test, ast.Compare) and _asks_whether_given(test):
        asked, absent = test.left, isinstance(test.ops[0], ast.Is)
    else:
        return
    found = values(source, asked.value if isinstance(asked, ast.NamedExpr) else asked)
    for call in found if isinstance(asked, (ast.Name, ast.Call, ast.NamedExpr)) else ():
        own = scopes(source).function(call.func) if isinstance(call, ast.Call) else None
        if own is None or not table.launched([call]):
            continue
        instead = [s for s in (body if absent else rest) if isinstance(s, (ast.expr, ast.Assign, ast.Return))]
        for refused in _gives_none(source, own):
            yield refused, [call], instead


def _gives_none(source: Source, function: Function) -> Iterator[ast.expr]:
    """The conditions under which a function gives None."""
    for node in source.inside(function, ast.Return):
        value = node.value
        if isinstance(value, ast.IfExp) and any(map(_is_none, (value.body, value.orelse))):
            yield value.test
        elif value is None or _is_none(value):
            around = source.parent(node)
            while around is not None and not isinstance(around, (ast.If, Function)):
                around = source.parent(around)
            if isinstance(around, ast.If):
                yield around.test


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _asked(source: Source, statement: ast.AST) -> ast.expr | None:
    """The condition of an `if` or `while`, or of a loop over one thing or none: `for _ in range(fits)`."""
    if isinstance(statement, (ast.If, ast.While)):
        return statement.test
    return _one_or_none(source, statement.iter) if isinstance(statement, (ast.For, ast.AsyncFor)) else None


def _one_or_none(source: Source, node: ast.expr) -> ast.expr | None:
    """The condition that decides whether a sequence is empty; None: it is an ordinary one."""
    if isinstance(node, ast.Call):
        full = source.resolve(node.func)
        if full in ("builtins.filter", "itertools.takewhile", "itertools.compress") and len(node.args) == 2:
            predicate, sequence = node.args if full != "itertools.compress" else reversed(node.args)
            if isinstance(sequence, (ast.List, ast.Tuple)) and len(sequence.elts) == 1:
                return predicate.body if isinstance(predicate, ast.Lambda) else predicate
            return None
        counts = full in ("builtins.range", "itertools.repeat", "itertools.islice") and node.args
        return next((one for one in (node.args if counts else ()) if _is_yes_or_no(source, one)), None)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):  # [x] * fits
        return next((side for side in (node.left, node.right) if _is_yes_or_no(source, side)), None)
    if isinstance(node, ast.IfExp) and any(_is_empty(side) for side in (node.body, node.orelse)):
        return node.test
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):  # [x][:fits]
        bounds = [bound for bound in (node.slice.lower, node.slice.upper) if bound is not None]
        return next((bound for bound in bounds if _is_yes_or_no(source, bound)), None)
    if isinstance(node, (ast.ListComp, ast.GeneratorExp)) and node.generators[0].ifs:
        sequence = node.generators[0].iter
        return node.generators[0].ifs[0] if isinstance(sequence, (ast.List, ast.Tuple)) else None
    return None


def _is_empty(node: ast.expr) -> bool:
    return isinstance(node, (ast.List, ast.Tuple)) and not node.elts


def _is_yes_or_no(source: Source, node: ast.expr, depth: int = 0) -> bool:
    """Whether an expression is True or False, or a number made of that."""
    if isinstance(node, ast.Compare) or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)):
        return True
    if isinstance(node, ast.BoolOp):
        return all(_is_yes_or_no(source, value, depth) for value in node.values)
    if isinstance(node, ast.Call):
        full = source.resolve(node.func)
        if full in ("builtins.int", "builtins.sum") and node.args:
            return _is_yes_or_no(source, node.args[0], depth)
        return full in ("builtins.bool", "builtins.any", "builtins.all", "builtins.isinstance", "builtins.hasattr")
    if isinstance(node, ast.IfExp):
        return all(isinstance(side, ast.Constant) and side.value in (0, 1) for side in (node.body, node.orelse))
    bound = scopes(source).of(node.id, node) if isinstance(node, ast.Name) else []
    if isinstance(node, ast.Attribute) and node.attr in scopes(source).members:
        bound = scopes(source).members[node.attr].values
    given = [b.value for b in bound if b.whole and isinstance(b.value, ast.expr)]
    return depth < NESTED and bool(given) and all(_is_yes_or_no(source, value, depth + 1) for value in given)


def _half_asked(source: Source, table: Kernels, statement: ast.If, after: Sequence[ast.AST]) -> Iterator[Branch]:
    """`if fits and (y := kernel(x)) is not None: return y`: the first half of the question chooses."""
    for both in source.inside(statement.test, ast.BoolOp):
        rest = both.values[1:]
        if table.launched(rest) and not table.launched(both.values[:1]):
            yield both.values[0], rest, statement.body
            yield both.values[0], rest, statement.orelse or (after if _leaves(statement.body) else [])


def _fallen_through(statement: ast.If, after: Sequence[ast.AST]) -> Iterator[Branch]:
    """`if A: if B: return kernel(x)` and `return reference(x)` after it: B chooses, and so does A."""
    last = statement.body[-1]
    if isinstance(last, ast.If) and not last.orelse:
        inner = [(last.test, last.body, after)] if _leaves(last.body) else [*_fallen_through(last, after)]
        if inner:
            yield statement.test, inner[0][1], after
            yield from inner


def _leaves(body: Sequence[ast.AST]) -> bool:
    """Whether nothing that stands behind these statements runs after them."""
    last = body[-1] if body else None
    if isinstance(last, (ast.With, ast.AsyncWith)):
        return _leaves(last.body)
    if isinstance(last, ast.If) and last.orelse:
        return all(_leaves(side) or isinstance(side[-1], ast.Raise) for side in (last.body, last.orelse))
    return isinstance(last, (ast.Return, ast.Continue, ast.Break))


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
    if isinstance(key, ast.Slice):
        bounds = [bound for bound in (key.lower, key.upper) if bound is not None and _is_yes_or_no(source, bound)]
        if not bounds:
            return
        key = bounds[0]
    if isinstance(key, ast.Constant):
        return
    for held in [*_tables(source, container), *_layers(source, container, key)]:
        carrying = [value for value in held if table.carried(value)]
        others = [value for value in held if not table.carried(value)]
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
        values = _entries(source, literal)
        if values:
            yield values


def _layers(source: Source, container: ast.AST, key: ast.AST) -> Iterator[list[ast.expr]]:
    """The layers of an `nn.ModuleList([...])` or `nn.ModuleDict({...})`, where more than a plain index picks one."""
    held = scopes(source).members[container.attr].values if _is_member(source, container) else []  # type: ignore[attr-defined]
    for made in (b.value for b in held if b.whole and isinstance(b.value, ast.Call)):
        if source.resolve(made.func) in LAYERS and made.args and conditions(source).kinds(key) != {Kind.SETTING}:
            yield _entries(source, made.args[0])


def _is_member(source: Source, node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr in scopes(source).members


def _entries(source: Source, literal: ast.AST | None, depth: int = 0) -> list[ast.expr]:
    """The values, not the keys, of a table that is written out, or made of such by `dict`, `zip` and the like."""
    if isinstance(literal, ast.Dict):
        return literal.values
    if isinstance(literal, (ast.Tuple, ast.List, ast.Set)):
        return literal.elts
    if depth == NESTED:
        return []
    if isinstance(literal, ast.Call) and source.resolve(literal.func) in TABLES:
        named = [keyword.value for keyword in literal.keywords if keyword.arg != "key"]
        made = [a.body for a in literal.args[:1] if isinstance(a, ast.Lambda)]  # of defaultdict: what is not in it
        return [*named, *made, *(v for a in literal.args for v in _flat(_entries(source, a, depth + 1)))]
    if isinstance(literal, (ast.DictComp, ast.ListComp, ast.GeneratorExp, ast.SetComp)):
        return [v for part in literal.generators for v in _flat(_entries(source, part.iter, depth + 1))]
    if isinstance(literal, ast.Name) and depth:
        bound = scopes(source).of(literal.id, literal)
        return [v for b in bound if b.whole for v in _entries(source, b.value, depth + 1)]
    return []


def _flat(values: Sequence[ast.expr]) -> list[ast.expr]:
    """The values of pairs one by one, without plain keys."""
    inner = [one for v in values for one in (v.elts if isinstance(v, (ast.Tuple, ast.List)) else [v])]
    return [one for one in inner if not isinstance(one, (ast.Constant, ast.Compare))]


def _tried_in_turn(source: Source, table: Kernels, iterated: ast.AST, tests: Sequence[ast.expr]) -> Iterator[Branch]:
    """`for run in (kernel, reference): if run.fits(x): return run(x)`, as a loop or inside of brackets."""
    if isinstance(iterated, ast.Call) and isinstance(iterated.func, ast.Attribute) and not iterated.args:
        iterated = iterated.func.value  # table.values(), table.items()
    for held in _tables(source, iterated) if tests else ():
        flat = _flat(held)
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
