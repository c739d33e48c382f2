"""Where the options of the command line go: which names hold what `parse_args()` gave, and whether the object can go.

It can where nothing but its fields is used and every field has settled before: then reads become literals, and the
object leaves signatures and calls as a config does. Else it stays, as `argparse.Namespace(...)` with the values.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any

from builder.bindings import Variable
from builder.configs import FunctionNode, Key
from builder.environment import Place
from builder.facts import Facts
from builder.flow import Flow
from builder.objects import READERS, Parsed
from builder.scan import Module
from builder.scopes import Occurrence, Scope
from builder.trees import root_of
from builder.values import MUTABLE, UNKNOWN


@dataclass(eq=False)
class Options:
    """What one call of a parser gave, and everything that holds it."""

    parsed: Parsed
    names: dict[Key, Module] = field(default_factory=dict)
    takers: dict[ast.AST, set[str]] = field(default_factory=dict)
    stays: Place | None = None  # a use that needs the object
    escapes: bool = False  # some use may do anything with it
    stores: list[ast.stmt] = field(default_factory=list)  # statements that set a field and were followed

    @property
    def vanishes(self) -> bool:
        """Whether the artifact needs no object."""
        return self.stays is None

    def values(self) -> dict[str, Any]:
        """The fields: what is left in the end where the object goes, else what the parser gave."""
        return vars(self.parsed.namespace) if self.vanishes else self.parsed.first

    def read(self, name: str) -> Any:
        """The value of an option; KeyError when there is none."""
        return self.values()[name]

    def value_names(self) -> list[str]:
        """All options."""
        return list(self.values())


def find(facts: Facts) -> list[Options]:
    """Follow the options of every parser through the program.

    Where some turn out to reach code that nobody can follow, all is followed again, and such options are then known
    only up to there.
    """
    found = _trace(facts)
    escaped = {one.parsed.call for one in found if one.escapes or facts.sets_any_attribute}
    if escaped:
        facts.start_again(escaped)
        found = _trace(facts)
    for one in found:
        if one.vanishes:
            facts.settled.add(id(one.parsed.namespace))
    facts.forget_functions()
    return found


def _trace(facts: Facts) -> list[Options]:
    _follow(facts)
    found = []
    for parsed in list(facts.parsed.values()):
        options = Options(parsed)
        _Tracer(facts, options).run()
        found.append(options)
    return found


def _follow(facts: Facts) -> None:
    """Follow all straight code in which a parser may be asked."""
    modules = facts.program.modules.values()
    if not any("argparse" in module.source.text for module in modules):
        return
    for module in modules:
        facts.module_flow(module)
    for module in modules:
        for scope in module.scope.children:
            if isinstance(scope.node, FunctionNode):
                facts.function_flow(module, scope)


class _Tracer:
    def __init__(self, facts: Facts, options: Options) -> None:
        self.facts = facts
        self.options = options
        self.namespace = options.parsed.namespace
        self.flow: Flow = options.parsed.flow
        self.waiting: list[tuple[Module, Scope, str]] = []
        self.outcomes: dict[ast.expr, bool | None] = {}
        self.traced: set[Key] = set()

    def run(self) -> None:
        parsed = self.options.parsed
        self.options.stores = self.flow.stores.get(id(self.namespace), [])
        target = parsed.module.by_node[parsed.target]
        if self.options.stores and not self.settles(self.flow.scope_body()):
            self.stay(parsed.module, self.options.stores[-1])
        self.hold(parsed.module, target.home(), target.name, parsed.target)
        if parsed.rest is not None:  # the call gives a pair, which is written as one
            self.stay(parsed.module, parsed.target)
        while self.waiting:
            module, scope, name = self.waiting.pop(0)
            for home, occurrence in self.occurrences(module, scope, name):
                if occurrence.kind == "load":
                    self.use(home, occurrence)
                elif occurrence.kind in ("delete", "declaration"):
                    self.escape(home, occurrence.node)
        if any(value is UNKNOWN for value in vars(self.namespace).values()):
            self.stay(parsed.module, parsed.target)

    def settles(self, body: list[ast.stmt]) -> bool:
        """Whether all statements from the one that parses to the last that sets a field were followed: then nothing
        else can have read a field in between.
        """
        parsed = self.options.parsed
        source = parsed.module.source
        first, last = source.start(parsed.target), max(source.end(store) for store in self.options.stores)
        for statement in body:
            if source.end(statement) <= first or source.start(statement) >= last or statement in self.flow.followed:
                continue
            if not isinstance(statement, ast.If) or statement.test not in self.facts.decisions:
                return False
            taken, _ = self.facts.decisions[statement.test]
            if not self.settles(statement.body if taken else statement.orelse):
                return False
        return True

    def occurrences(self, module: Module, scope: Scope, name: str) -> list[tuple[Module, Occurrence]]:
        if scope is module.scope:
            return self.facts.uses(Variable(module.name, name))
        return [(module, place) for place in module.places(scope, name)]

    def hold(self, module: Module, scope: Scope, name: str, node: ast.AST) -> None:
        """A name that should hold the options and nothing else; what it is used for counts in any case."""
        if (scope, name) in self.traced:
            return
        self.traced.add((scope, name))
        self.waiting.append((module, scope, name))
        if scope is module.scope:
            value, _ = self.facts.module_flow(module).final(name)
            holds = value is self.namespace and not self.facts.bindings.changes(Variable(module.name, name))
        else:
            known = self.facts.local_constant(module, scope, name)
            holds = known is not None and known[0] is self.namespace
        if holds:
            self.options.names[(scope, name)] = module
        else:
            self.stay(module, node)

    def stay(self, module: Module, node: ast.AST) -> None:
        """Note a use that needs the object."""
        if self.options.stays is None:
            self.options.stays = self.facts.place(module, node)

    def escape(self, module: Module, node: ast.AST) -> None:
        """Note a use that may do anything with the object."""
        self.options.escapes = True
        self.stay(module, node)

    def is_dead(self, module: Module, node: ast.AST) -> bool:
        """Whether a place is in a branch that knobs decide against."""
        parents = self.facts.parents(module)
        while (around := parents.get(node)) is not None:
            if isinstance(around, (ast.If, ast.IfExp)) and node is not around.test:
                outcome = self.decided(module, around.test)
                body = around.body if isinstance(around.body, list) else [around.body]
                if outcome is not None and outcome is not (node in body):
                    return True
            elif isinstance(around, ast.BoolOp):
                stops = isinstance(around.op, ast.Or)
                before = around.values[: around.values.index(node)]  # type: ignore[arg-type]  # an operand
                if any(self.decided(module, operand) is stops for operand in before):
                    return True
            node = around
        return False

    def decided(self, module: Module, test: ast.expr) -> bool | None:
        """What knobs decide a test to be; None where they do not."""
        if test not in self.outcomes:
            self.outcomes[test] = self.facts.outcome(module, test)
        return self.outcomes[test]

    def use(self, module: Module, occurrence: Occurrence) -> None:
        """Judge one read of a name that holds the options."""
        node: ast.AST = occurrence.node
        if self.is_dead(module, node):
            return
        if occurrence.attributes:
            reference = self.facts.bindings.of(module, occurrence)
            used = reference.attributes if reference else 0
            if used < len(occurrence.attributes):
                self.member(module, occurrence.attributes[used])
                return
            node = occurrence.attributes[used - 1]
        parents = self.facts.parents(module)
        around = parents.get(node)
        is_builtin = self.facts.bindings.names_builtin
        match around:
            case ast.Call(func=ast.Name(id="vars") as name, args=[only]) if self.facts.bindings.names_builtin(
                module, name
            ):
                assert only is node
                self.table(module, around)
            case ast.Call(
                func=ast.Name(id="getattr" | "hasattr") as name, args=[only, ast.Constant(value=str(key)), *_]
            ) if is_builtin(module, name) and only is node:
                value = vars(self.namespace).get(key)
                if value is UNKNOWN or isinstance(value, MUTABLE):
                    self.stay(module, node)
            case ast.Call(func=ast.Name(id=shown) as name) if shown in READERS and self.facts.bindings.names_builtin(
                module, name
            ):
                self.stay(module, node)
            case ast.FormattedValue():
                self.stay(module, node)
            case ast.Call() if any(argument is node for argument in around.args):
                self.passed(module, around, node)
            case ast.keyword():
                call = parents.get(around)
                if isinstance(call, ast.Call) and around.arg is not None:
                    self.passed(module, call, node)
                else:
                    self.escape(module, node)
            case ast.Assign(targets=[ast.Name() as target]) | ast.AnnAssign(target=ast.Name() as target):
                bound = module.by_node[target]
                self.hold(module, bound.home(), bound.name, target)
            case _:
                self.escape(module, node)

    def member(self, module: Module, attribute: ast.Attribute) -> None:
        """A field is read, or set by a statement that was followed."""
        if attribute.attr not in vars(self.namespace) and attribute.attr not in self.facts.stored:
            self.escape(module, attribute)  # `__dict__`, a method
        elif isinstance(attribute.ctx, ast.Load):
            value = vars(self.namespace).get(attribute.attr, UNKNOWN)
            changes = isinstance(value, MUTABLE) and not self.facts.is_only_read(module, attribute)
            if value is UNKNOWN or changes:
                self.stay(module, attribute)
        elif self.facts.parents(module).get(attribute) not in self.options.stores:
            self.stay(module, attribute)

    def passed(self, module: Module, call: ast.Call, node: ast.AST) -> None:
        """The options are an argument: of a function or a class of the recipe, whose parameter then holds them."""
        callee = self.callee(module, call)
        if callee is None:
            self.escape(module, node)
            return
        home, function, bound = callee
        parameters = [*function.args.posonlyargs, *function.args.args][bound:] + function.args.kwonlyargs
        for position, parameter in enumerate(parameters):
            by_name = any(keyword.arg == parameter.arg and keyword.value is node for keyword in call.keywords)
            starred = any(isinstance(argument, ast.Starred) for argument in call.args[: position + 1])
            by_place = position < len(call.args) and call.args[position] is node and not starred
            if by_name or (by_place and parameter not in function.args.kwonlyargs):
                scope = home.scope.scopes[function]
                self.hold(home, scope, parameter.arg, node)
                if (scope, parameter.arg) in self.options.names:
                    self.options.takers.setdefault(function, set()).add(parameter.arg)
                return
        self.escape(module, node)

    def callee(self, module: Module, call: ast.Call) -> tuple[Module, FunctionNode, int] | None:
        """The function that a call runs, and how many of its parameters are bound before."""
        occurrence = module.by_node.get(root_of(call.func))
        reference = self.facts.bindings.of(module, occurrence) if occurrence else None
        if occurrence is None or (reference and reference.attributes != len(occurrence.attributes)):
            return None
        if reference is None or not isinstance(reference.meaning, Variable):
            held = self.facts.function_in(module, occurrence)
            return (held.evaluator.module, held.node, 0) if held and isinstance(held.node, FunctionNode) else None
        definition = self.facts.bindings.definition(reference.meaning)
        home = self.facts.program.modules[reference.meaning.module]
        if isinstance(definition, ast.ClassDef) and not definition.decorator_list and not definition.keywords:
            own = (one for one in definition.body if isinstance(one, ast.FunctionDef) and one.name == "__init__")
            made = next(own, None)
            new = any(isinstance(one, ast.FunctionDef) and one.name == "__new__" for one in definition.body)
            return (home, made, 1) if made is not None and not new and not made.decorator_list else None
        return (home, definition, 0) if isinstance(definition, FunctionNode) else None

    def table(self, module: Module, call: ast.Call) -> None:
        """`vars(args)`: a table of its own is as good where it is only read."""
        if not self.facts.is_only_read(module, call):
            self.escape(module, call)
