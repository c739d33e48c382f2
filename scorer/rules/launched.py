"""Checks of what the file says twice: constants, assertions and docstring against the launch string and the budget."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator
from typing import Any

from scorer.artifact import Artifact
from scorer.contest import Profile
from scorer.rules.endings import always_raises
from scorer.rules.numerals import Number, number, plain
from scorer.rules.scopes import scopes
from scorer.rules.source import Hit, Source

COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda value, group: value in group,
    ast.NotIn: lambda value, group: value not in group,
}
WORLD_SIZE = {"torch.distributed.get_world_size", "torch_xla.runtime.world_size"}
READS = {"os.environ.get", "os.getenv", "os.environ.__getitem__"}


def contradicted_constants(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """Constants and assertions that the launch string or the budget contradicts."""
    facts = _facts(artifact, profile)
    limits = {
        name: (field, float(getattr(profile.budget, field)))
        for field, names in profile.review.budget_constants.items()
        for name in names
    }
    for name, node, value in _constants(source):
        if name in facts and value != facts[name][1]:
            said, expected = facts[name]
            yield _hit(node, f"{name} is {plain(value)}", f"{said} says {plain(expected)}")
        elif name in limits and value > limits[name][1]:
            field, limit = limits[name]
            yield _hit(node, f"{name} is {plain(value)}", f"the contest's {field} is {limit:g}")
    for node in source.every(ast.Assert, ast.If, ast.Call):
        if isinstance(node, (ast.Assert, ast.If)) and _conditional(source, node):
            continue
        if isinstance(node, ast.Assert):
            for known, said in _decided(source, node.test, facts, profile):
                if known is False:
                    yield _hit(node, f"`{ast.unparse(node.test)}` fails", said)
        elif isinstance(node, ast.If) and always_raises(source, node.body):
            for known, said in _decided(source, node.test, facts, profile):
                if known is True:
                    yield _hit(node, f"`{ast.unparse(node.test)}` refuses the launch", said)
        elif isinstance(node, ast.Call) and source.resolve(node.func) == "torch.distributed.init_process_group":
            for keyword in node.keywords:
                given = number(source, keyword.value)
                if keyword.arg == "world_size" and "ranks" in facts and given not in (None, facts["ranks"][1]):
                    yield _hit(node, f"world_size={given}", f"{facts['ranks'][0]} says {facts['ranks'][1]}")


def _conditional(source: Source, node: ast.AST) -> bool:
    """Whether a statement of a function runs only under some condition."""
    around = source.parent(node)
    while around is not None and not isinstance(around, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Module)):
        if isinstance(around, (ast.If, ast.While, ast.match_case, ast.ExceptHandler)):
            return True
        around = source.parent(around)
    return False


def _hit(node: ast.AST, found: str, said: str) -> Hit:
    return Hit(getattr(node, "lineno", 1), {"FOUND": found, "SAID": said})


def _facts(artifact: Artifact, profile: Profile) -> dict[str, tuple[str, Number]]:
    """Name of a constant, variable, or "ranks" -> (who says it, value)."""
    rules = profile.launch
    found: dict[str, tuple[str, Number]] = {}
    ranks = rules.world_size(artifact.launch_command)
    if ranks is not None:
        said = (f"the launch string ({rules.nproc_option})", ranks)
        found = dict.fromkeys(["ranks", *profile.review.rank_constants], said)
    for variable, value in rules.variables(artifact.launch_command).items():
        if value.isdecimal():
            names = [variable, *profile.review.launch_constants.get(variable, [])]
            found |= dict.fromkeys(names, (f"the launch string ({variable})", int(value)))
    return found


def _constants(source: Source) -> Iterator[tuple[str, ast.AST, Number]]:
    """(name in capitals, place, value) of every variable and field that is given one number, whatever happens."""
    table = scopes(source)
    places = [(name, bound) for (_, name), bound in table.bindings.items() if len(bound) == 1]
    fields = [(name, held.values) for name, held in table.members.items()]
    for name, bindings in [*places, *fields]:
        for binding in bindings:
            unconditional = binding.whole and not binding.parameter and not table.tests(binding)
            value = number(source, binding.value) if unconditional and binding.value is not None else None
            alone = value == 1 and not name.isupper()  # the value before the launcher is asked
            if value is not None and not alone:
                yield name.upper(), binding.node, value


Decision = tuple[bool | None, str]


def _decided(
    source: Source, test: ast.expr, facts: dict[str, tuple[str, Number]], profile: Profile
) -> Iterator[Decision]:
    """What the launch string makes of a comparison, with who says so; nothing where it says nothing."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        for known, said in _decided(source, test.operand, facts, profile):
            yield (None if known is None else not known), said
        return
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        for value in test.values:
            yield from ((k, said) for k, said in _decided(source, value, facts, profile) if k is False)
        return
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or type(test.ops[0]) not in COMPARISONS:
        return
    left, right = test.left, test.comparators[0]
    fact = _fact(source, left, facts) or _fact(source, right, facts)
    if fact is None:
        return
    first, second = _value(source, left, facts), _value(source, right, facts)
    if first is not None and second is not None and (isinstance(first, str) == _holds_text(second)):
        yield COMPARISONS[type(test.ops[0])](first, second), f"{fact[0]} says {plain(fact[1])}"


def _holds_text(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, list) and any(isinstance(v, str) for v in value))


def _value(source: Source, node: ast.expr, facts: dict[str, tuple[str, Number]]) -> Any:
    """The number, text or list that an expression is under this launch string; None: unknown."""
    fact = _fact(source, node, facts)
    if fact is not None:
        return str(fact[1]) if _variable_read(source, node) else fact[1]
    if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        values = [_value(source, element, facts) for element in node.elts]
        return None if any(value is None for value in values) else values
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return number(source, node)


def _fact(source: Source, node: ast.AST, facts: dict[str, tuple[str, Number]]) -> tuple[str, Number] | None:
    """What the launch string says of an expression: the number of ranks, or a variable that it sets."""
    if isinstance(node, ast.Call):
        if source.resolve(node.func) in WORLD_SIZE and not node.args and not node.keywords:
            return facts.get("ranks")
        if source.resolve(node.func) == "builtins.int" and node.args:
            return _fact(source, node.args[0], facts)
    variable = _variable_read(source, node)
    if variable is not None:
        return facts.get("ranks" if variable == "WORLD_SIZE" else variable)
    if isinstance(node, ast.Attribute):
        return facts.get("ranks") if node.attr == "world_size" else None
    if isinstance(node, ast.Name):
        bound = scopes(source).of(node.id, node)
        if node.id.lower() == "world_size" and not any(isinstance(b.value, ast.Constant) for b in bound):
            return facts.get("ranks")
        if len(bound) == 1 and isinstance(bound[0].value, (ast.Call, ast.Subscript)):
            return _fact(source, bound[0].value, facts)
    return None


def _variable_read(source: Source, node: ast.AST) -> str | None:
    """The environment variable that an expression reads."""
    key: ast.AST | None = None
    if isinstance(node, ast.Subscript) and source.resolve(node.value) == "os.environ":
        key = node.slice
    elif isinstance(node, ast.Call) and source.resolve(node.func) in READS and node.args:
        key = node.args[0]
    return key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else None


def docstring_launch(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """The launch strings in the file's docstring: one of them should be the one that is used."""
    rules = profile.launch
    used = (rules.world_size(artifact.launch_command), rules.variables(artifact.launch_command))
    mentioned = []
    for line in (ast.get_docstring(source.tree, clean=False) or "").splitlines():
        words = line.split()
        starts = [i for i, word in enumerate(words) if word.partition("=")[0] in rules.environment]
        command = " ".join(words[starts[0] :] if starts else words).strip("`,.;:")
        ranks = rules.world_size(command)
        if ranks is not None:
            mentioned.append((ranks, rules.variables(command), line.strip()))
    if (
        used[0] is not None
        and mentioned
        and not any((n, v) == used or (n == used[0] and not v) for n, v, _ in mentioned)
    ):
        yield Hit(1, {"FOUND": mentioned[0][2], "LAUNCH": artifact.launch_command})
