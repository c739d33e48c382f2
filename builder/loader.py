"""What the loader of the config does to the knobs: the artifact holds the values that the settings give, so a loader
that makes others of them, from the environment or from one another, would leave another program in the artifact than
the recipe is. Such code is refused where it stands.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from builder import trees
from builder.bindings import Variable
from builder.configs import FunctionNode
from builder.errors import Problem
from builder.facts import Facts
from builder.knobs import Config
from builder.scan import Module
from builder.values import RaisedError, UnknownValueError

ENVIRONMENT = ("os.environ", "os.getenv", "os.path.expandvars")
CONVERTERS = ("bool", "float", "int", "list", "str", "tuple")  # the builder holds knobs to their types by itself
GIVES = "give the knob in the configuration file, or by --set; read variables outside of the loader"
COMPUTES = "compute it from the fields where it is used, or in a property; give knobs in the configuration"


def changed_by_loader(facts: Facts) -> list[Problem]:
    """Each place in the loader, or in a function of the recipe that it reaches, that reads the environment or gives a
    knob by its name a value that is not the frozen one.
    """
    if facts.config is None or facts.configs.loader is None:
        return []
    problems: list[Problem] = []
    for module, node in _reached(facts, facts.configs.loader):
        code = _Loader(facts, facts.config, module)
        for inner in trees.nodes(node):
            problems += code.problems(inner)
    return problems


def _reached(facts: Facts, loader: Variable) -> Iterator[tuple[Module, ast.stmt]]:
    """The loader and the functions that it names, those that they name, and so on."""
    wanted, seen = [loader], {loader}
    for variable in wanted:
        module = facts.program.modules.get(variable.module)
        definition = facts.bindings.definition(variable) if module else None
        if module is None or not isinstance(definition, FunctionNode):
            continue
        yield module, definition
        for node in trees.nodes(definition):
            occurrence = module.by_node.get(node)
            reference = facts.bindings.of(module, occurrence) if occurrence else None
            if reference and isinstance(reference.meaning, Variable) and reference.meaning not in seen:
                seen.add(reference.meaning)
                wanted.append(reference.meaning)


class _Loader:
    """One module's code that a loader runs."""

    def __init__(self, facts: Facts, config: Config, module: Module) -> None:
        self.facts = facts
        self.config = config
        self.module = module

    def problems(self, node: ast.AST) -> Iterator[Problem]:
        occurrence = self.module.by_node.get(node)
        path = self.facts.bindings.imported_path(self.module, occurrence) if occurrence else ""
        if isinstance(node, ast.Name) and path.startswith(ENVIRONMENT):
            message = "the loader of the config reads the environment; the artifact has the values of the settings"
            yield self.module.problem(self.module.source.start(node), "BLD030", message, GIVES)
        for name, value in self.given(node):
            if name in self.config.knobs and not self.is_frozen(name, value):
                message = f"the loader of the config gives `{name}` a value of its own: `{ast.unparse(value)}`"
                yield self.module.problem(self.module.source.start(value), "BLD030", message, COMPUTES)

    def given(self, node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
        """The names that a node gives values to: in a mapping, in an object, as arguments of the config class."""
        match node:
            case ast.Assign(targets=targets, value=value):
                yield from ((name, value) for target in targets for name in _named(target))
            case ast.AugAssign(target=target):
                yield from ((name, ast.BinOp(target, node.op, node.value)) for name in _named(target))
                yield from _items(node.value)
            case ast.BinOp(op=ast.BitOr(), right=right):
                yield from _items(right)
            case ast.Call(func=ast.Attribute(attr="setdefault"), args=[ast.Constant(value=str(name)), value]):
                yield name, value
            case ast.Call(args=[_, ast.Constant(value=str(name)), value]) if self.is_setter(node.func):
                yield name, value
            case ast.Call() if self.makes_values(node.func):
                for value in [*node.args, *(keyword.value for keyword in node.keywords if keyword.arg is None)]:
                    yield from _items(value)
                yield from ((keyword.arg, keyword.value) for keyword in node.keywords if keyword.arg is not None)

    def is_setter(self, function: ast.expr) -> bool:
        """Whether a function is `setattr` or `object.__setattr__`."""
        return isinstance(function, ast.Attribute | ast.Name) and ast.unparse(function) in (
            "setattr",
            "object.__setattr__",
        )

    def makes_values(self, function: ast.expr) -> bool:
        """Whether the keywords of a call are knobs: those of the config class, of `replace`, `dict` and `update`."""
        if isinstance(function, ast.Attribute) and function.attr in ("update", "_replace"):
            return True
        occurrence = self.module.by_node.get(trees.root_of(function))
        if occurrence is None:
            return False
        reference = self.facts.bindings.of(self.module, occurrence)
        if reference is not None and reference.meaning == self.facts.configs.class_:
            return True
        is_dict = isinstance(function, ast.Name) and function.id == "dict"
        return is_dict or self.facts.bindings.imported_path(self.module, occurrence) == "dataclasses.replace"

    def is_frozen(self, name: str, value: ast.expr) -> bool:
        """Whether a value is the knob's own: what some object or mapping holds under the name, or what is frozen."""
        match value:
            case ast.Name(id=local):
                return self.is_own_local(name, value, local)
            case ast.Attribute(attr=same) | ast.Subscript(slice=ast.Constant(value=same)):
                if same == name:
                    return True
            case ast.Call(func=ast.Attribute(attr="get" | "pop"), args=[ast.Constant(value=same), *_]):
                if same == name:
                    return True
            case ast.Call(func=ast.Name(id=kind), args=[inner], keywords=[]) if kind in CONVERTERS:
                return self.is_frozen(name, inner)
        try:
            known = self.facts.evaluator(self.module).evaluate(value)
        except (UnknownValueError, RaisedError):
            return False
        frozen = self.config.knobs[name].value
        return type(known) is type(frozen) and bool(known == frozen)

    def is_own_local(self, name: str, node: ast.Name, local: str) -> bool:
        """Whether a variable of the function holds the knob: a parameter or the variable of a loop is taken to."""
        home = self.module.by_node[node].home()
        stored = {occurrence.node for occurrence in home.bound.get(local, []) if occurrence.kind == "store"}
        sources = [
            one.value
            for one in trees.nodes(home.node)
            if isinstance(one, ast.Assign) and any(target in stored for target in one.targets)
        ]
        return all(isinstance(one, ast.Name) or self.is_frozen(name, one) for one in sources)


def _named(target: ast.expr) -> Iterator[str]:
    """The literal name under which a target stores."""
    match target:
        case ast.Subscript(slice=ast.Constant(value=str(name))) | ast.Attribute(attr=name):
            yield name


def _items(value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """The literal keys of a dictionary display, with their values."""
    if isinstance(value, ast.Dict):
        for key, item in zip(value.keys, value.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                yield key.value, item
