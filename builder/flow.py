"""Following straight code: statements that run exactly once, in order, are evaluated; what is not understood makes the
names that it touches unknown, never wrong.
"""

from __future__ import annotations

import argparse
import ast
import copy
import functools
import math
from typing import TYPE_CHECKING, Any

from builder import plain, trees, values
from builder.bindings import Variable
from builder.code import Code
from builder.environment import Place
from builder.objects import HOLDERS, Constant, Function, Parsed, reachable
from builder.scan import Module, is_typing_block
from builder.scopes import Scope
from builder.values import UNKNOWN, Evaluator, RaisedError, Run, UnknownValueError

if TYPE_CHECKING:
    from builder.facts import Facts


class Flow(Code):
    """Follows the straight code of a module or function: what it can evaluate it does, the rest it forgets."""

    def __init__(self, facts: Facts, module: Module, scope: Scope) -> None:
        super().__init__(facts, module, {}, Run(), scope)
        self.scope: Scope = scope
        self.done = False
        self.knobs: dict[str, tuple[str, ...]] = {}
        self.deciding: list[str] = []  # knobs that decided the branches around
        self.executed: dict[ast.AST, Constant] = {}  # target of an assignment -> value
        self.dead: set[ast.AST] = set()  # names in branches that are never taken
        self.stores: dict[int, list[ast.stmt]] = {}  # namespace -> statements that set its fields
        self.followed: set[ast.AST] = set()  # statements that were evaluated whole
        self.parsers: set[str] = set()  # variables that hold parsers of the command line
        self.records = True  # what is evaluated now is evaluated once
        self.shared = self._shared(facts)

    def _shared(self, facts: Facts) -> frozenset[str]:
        """Variables that functions inside bind too: at any time."""
        scope = self.scope
        if scope is self.module.scope:
            names = (name for name in scope.bound if facts.bindings.changes(Variable(self.module.name, name)))
            return frozenset(names)
        return frozenset(name for name in scope.bound if facts.is_bound_inside(scope, name))

    @functools.cached_property
    def mentioned(self) -> set[str]:
        """Names that stand in functions and classes inside."""
        inside = (node for child in self.scope.children for node in trees.nodes(child.node))
        return {node.id for node in inside if isinstance(node, ast.Name)}

    def scope_body(self) -> list[ast.stmt]:
        """The statements that are followed."""
        assert self.scope is not None
        body: list[ast.stmt] = self.scope.node.body  # type: ignore[attr-defined]  # a module or function
        return body

    def final(self, name: str) -> Constant:
        """The only value that a variable ever has here; UNKNOWN where it may have had another."""
        bound = [one for one in self.scope.bound.get(name, []) if one.node not in self.dead]
        executed = [self.executed[one.node] for one in bound if one.node in self.executed]
        if len(bound) != 1 or len(executed) != 1 or self.variables.get(name, UNKNOWN) is UNKNOWN:
            return UNKNOWN, ()
        return self.variables[name], self.knobs.get(name, ())

    def evaluate(self, node: ast.expr) -> Any:
        """Evaluate, and remember what reads in straight code give."""
        if not (self.records and isinstance(node, (ast.Call, ast.Subscript, ast.Compare))):
            return super().evaluate(node)
        outer, self.context.used = self.context.used, {}
        read, self.context.read = self.context.read, []
        made, changed = self.context.made, self.context.oldest_changed
        self.context.oldest_changed = math.inf
        try:
            value = super().evaluate(node)
            alone = self.context.oldest_changed >= made  # it changed nothing but what it made itself
            if self.context.read and alone:
                if not isinstance(value, values.MUTABLE) or isinstance(value, (list, dict)):
                    self.facts.moments[node] = (copy.deepcopy(value), tuple(self.context.used))
                variable = variable_of(node, self.context.read) if tells(node) else None
                self.facts.note(variable, value, tuple(self.context.used), self.place(node))
        finally:
            self.context.used = {**outer, **self.context.used}
            self.context.read = [*read, *self.context.read]
            self.context.oldest_changed = min(changed, self.context.oldest_changed)
        return value

    def place(self, node: ast.AST) -> Place:
        """File and line of a node."""
        return self.facts.place(self.module, node)

    def nested(self) -> Evaluator:
        """What a comprehension evaluates is evaluated more than once."""
        inner = super().nested()
        assert isinstance(inner, Flow)
        inner.records = False
        return inner

    def _read_name(self, node: ast.Name) -> Any:
        if node.id in self.shared:
            raise UnknownValueError(node, f"`{node.id}` is bound by a function inside too")
        value = super()._read_name(node)
        if node.id in self.variables:
            self.context.use(*self.knobs.get(node.id, ()))
        return value

    def name(self, node: ast.Name) -> Any:
        """A parameter of the function that is followed has the value that every call gives it."""
        occurrence = self.module.by_node.get(node)
        if occurrence is not None and occurrence.home() is self.scope and self.scope is not self.module.scope:
            bound = self.scope.bound[occurrence.name]
            if len(bound) == 1 and bound[0].kind == "parameter":
                known = self.facts.local_constant(self.module, self.scope, occurrence.name)
                if known == (None, ()):
                    return None  # `argv=None` that no call gives anything
                return self.facts.local(self.module, occurrence, self.context)
        return super().name(node)

    def follow(self, body: list[ast.stmt]) -> bool:
        """Follow statements in order. False: nothing behind them is reached."""
        for position, statement in enumerate(body):
            if not self.straight(statement):
                for unreached in body[position + 1 :]:
                    self.bury(unreached)
                return False
        return True

    def bury(self, node: ast.AST) -> None:
        """Note that code is never reached."""
        self.dead.update(trees.nodes(node))

    def straight(self, node: ast.stmt) -> bool:
        """Follow one statement."""
        self.context.steps = 0
        self.context.used = dict.fromkeys(self.deciding)
        self.records = True
        match node:
            case ast.If():
                return self.decide(node)
            case ast.With() | ast.AsyncWith():
                for item in node.items:
                    self.forget(item)
                return self.follow(node.body)
            case ast.FunctionDef() if self.scope is not self.module.scope:
                self.variables[node.name] = Function(self, node)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                self.variables.pop(node.name, None)
                if isinstance(node, ast.ClassDef) and self.scope is self.module.scope:
                    self.list_settings(node)
                if self.scope is not self.module.scope:
                    self.variables[node.name] = UNKNOWN
            case ast.Import() | ast.ImportFrom():
                for alias in node.names:
                    self.variables.pop(alias.asname or alias.name.split(".")[0], None)
            case ast.Raise(exc=ast.expr() as exception) if self.deciding and self.scope is self.module.scope:
                self.facts.rejected[node] = (self.module, self.refusal(node, exception))
                return False
            case ast.Return() | ast.Raise() | ast.Break() | ast.Continue():
                self.forget(node)
                return False
            case ast.Assign() | ast.AnnAssign() | ast.AugAssign() | ast.Expr() | ast.Assert() | ast.For() | ast.While():
                self.attempt_statement(node)
            case ast.Try(body=[ast.Assign() | ast.AnnAssign()], orelse=[], finalbody=[]) if not any(
                handler.name for handler in node.handlers
            ):
                return self.attempt_assignment(node)
            case ast.Try():
                self.attempt_statement(node)
            case _:
                self.forget(node)
        return True

    def refusal(self, node: ast.Raise, exception: ast.expr) -> RaisedError:
        """What a `raise` that knobs lead to says."""
        try:
            return self.raised(node, exception)
        except (UnknownValueError, RaisedError):
            return RaisedError(node, ast.unparse(exception), "")

    def list_settings(self, node: ast.ClassDef) -> None:
        """Remember what a class holds that only lists settings."""
        code = Code(self.facts, self.module, {}, self.context)
        listed = plain.attributes(node, plain.is_dataclass(node, code), code)
        if listed is not None:
            self.facts.listed[node] = listed

    def decide(self, node: ast.If) -> bool:
        """A branch: the one that is taken is straight code too."""
        if is_typing_block(node):
            return True
        try:
            taken = self.truth(node.test, self.evaluate(node.test))
        except UnknownValueError as error:
            self.note_trouble(node, error)
            self.forget(node)
            return True
        except RaisedError:
            self.forget(node)
            return True
        knobs = tuple(self.context.used)
        self.facts.decisions[node.test] = (taken, knobs)
        for statement in node.orelse if taken else node.body:
            self.bury(statement)
        return self.follow_under(knobs, node.body if taken else node.orelse)

    def follow_under(self, knobs: tuple[str, ...], body: list[ast.stmt]) -> bool:
        """Follow a block that these knobs chose."""
        outer = self.deciding
        self.deciding = list(dict.fromkeys([*outer, *knobs]))
        try:
            return self.follow(body)
        finally:
            self.deciding = outer

    def attempt_statement(self, node: ast.stmt) -> None:
        """Evaluate one statement, or forget what it touches."""
        if isinstance(node, ast.For) and not isinstance(node.iter, (ast.Tuple, ast.List, ast.Call, ast.Name)):
            self.forget(node)
            return
        if self.constant(node):
            return
        self.records = isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Assert))
        try:
            self.statement(node)
        except UnknownValueError as error:
            self.note_trouble(node, error)
            self.forget(node)
            return
        except (RaisedError, values._LoopSignal) as error:
            if isinstance(error, RaisedError) and self.context.used:
                self.facts.rejected[node] = (self.module, error)
            self.forget(node)
            return
        self.note(node)

    def note_trouble(self, node: ast.stmt, error: UnknownValueError) -> None:
        """Remember that a statement does something to a parser that cannot be followed."""
        inside = list(trees.nodes(node))
        asks = any(isinstance(child, ast.Attribute) and child.attr.startswith("parse_") for child in inside)
        names = [child.id for child in inside if isinstance(child, ast.Name) and child.id in self.parsers]
        if not asks and any(self.variables.get(name) is not UNKNOWN for name in names):  # the first one tells why
            self.facts.troubles[node] = error

    def attempt_assignment(self, node: ast.Try) -> bool:
        """`try: X = int(os.environ["X"])` with handlers: what runs in the end is straight code, the rest is dead."""
        chosen = node.body
        before = len(self.context.read)
        try:
            self.statement(node.body[0])
        except UnknownValueError:
            self.forget(node)
            return True
        except RaisedError as error:
            try:
                handler = self.handler(node, error)
            except UnknownValueError:
                handler = None
            if handler is None:
                if self.context.used:
                    self.facts.rejected[node] = (self.module, error)
                self.forget(node)
                return True
            chosen = handler.body
        else:
            self.note(node.body[0])
        knobs = tuple(self.context.used)
        if knobs:
            self.facts.attempts[node] = chosen
        for block in (node.body, *(handler.body for handler in node.handlers)):
            if block is not chosen:
                for statement in block:
                    self.bury(statement)
        if chosen is node.body:
            return True
        read = list(dict.fromkeys(self.context.read[before:]))
        reaches = self.follow_under(knobs, chosen)
        made = node.body[0]
        target = made.targets[0] if isinstance(made, ast.Assign) else getattr(made, "target", None)
        if len(read) == 1 and isinstance(target, ast.Name):  # what the handler makes of it
            used = tuple(knob for knob in self.knobs.get(target.id, ()) if knob not in self.deciding)
            self.facts.note(read[0], self.variables.get(target.id, UNKNOWN), used, self.place(made))
        return reaches

    def note(self, node: ast.stmt) -> None:
        """Remember what a statement that was evaluated whole has done."""
        self.followed.add(node)
        knobs = tuple(self.context.used)
        for child in trees.nodes(node):
            if isinstance(child, ast.Name):
                value = self.variables.get(child.id)
                if isinstance(value, values.PARSERS):
                    self.parsers.add(child.id)
                if isinstance(child.ctx, ast.Store):
                    self.knobs[child.id] = knobs
                    if not isinstance(node, ast.For):
                        self.executed[child] = (value, knobs)
                elif isinstance(value, values.MUTABLE):
                    self.knobs[child.id] = tuple(dict.fromkeys([*self.knobs.get(child.id, ()), *knobs]))
        self.note_options(node)

    def constant(self, node: ast.stmt) -> bool:
        """A module constant that the settings name has the value that they give it."""
        match node:
            case ast.Assign(targets=[ast.Name() as target]) | ast.AnnAssign(target=ast.Name() as target):
                given = self.facts.constants.get(Variable(self.module.name, target.id))
                if given is not None and self.scope is self.module.scope:
                    self.variables[target.id], self.knobs[target.id] = given
                    self.executed[target] = given
                    return True
        return False

    def note_options(self, node: ast.stmt) -> None:
        """Remember where options come from, and what sets their fields."""
        match node:
            case (
                ast.Assign(targets=[ast.Name() as target], value=value)
                | ast.AnnAssign(target=ast.Name() as target, value=ast.expr() as value)
            ):
                made = self.variables.get(target.id)
                if isinstance(made, argparse.Namespace) and id(made) not in self.facts.parsed:
                    knobs = tuple(self.context.used)
                    self.facts.parsed[id(made)] = Parsed(
                        self.module, value, self, target, copy.copy(vars(made)), made, knobs
                    )
            case ast.Assign(
                targets=[ast.Tuple(elts=[ast.Name() as target, ast.Name() as other])], value=ast.Call() as value
            ):
                made, rest = self.variables.get(target.id), self.variables.get(other.id)
                new = isinstance(made, argparse.Namespace) and id(made) not in self.facts.parsed
                if isinstance(made, argparse.Namespace) and new and isinstance(rest, list):
                    first, knobs = copy.copy(vars(made)), tuple(self.context.used)
                    self.facts.parsed[id(made)] = Parsed(
                        self.module, value, self, target, first, made, knobs, list(rest)
                    )
            case ast.Assign(targets=[ast.Attribute() as target]) | ast.AugAssign(target=ast.Attribute() as target):
                owner = self.evaluate(target.value)
                if isinstance(owner, argparse.Namespace):
                    self.stores.setdefault(id(owner), []).append(node)

    def forget(self, node: ast.AST) -> None:
        """Make unknown what code binds or may change."""
        calls = any(isinstance(child, ast.Call) for child in trees.nodes(node))
        touched: list[Any] = []
        for child in trees.nodes(node):
            if isinstance(child, ast.Name):
                if not isinstance(child.ctx, ast.Load):
                    self.variables[child.id] = UNKNOWN
                else:
                    touched.append(self.variables.get(child.id))
            elif isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                self.variables[child.name] = UNKNOWN
            elif isinstance(child, (ast.Import, ast.ImportFrom)):
                for alias in child.names:
                    self.variables[alias.asname or alias.name.split(".")[0]] = UNKNOWN
            elif isinstance(child, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and child.name:
                self.variables[child.name] = UNKNOWN
            elif isinstance(child, ast.MatchMapping) and child.rest:
                self.variables[child.rest] = UNKNOWN
        holders = {name: value for name, value in self.variables.items() if isinstance(value, HOLDERS)}
        if calls:
            shared = [name for name in holders if name in self.mentioned]
            if self.scope is self.module.scope:
                shared = [name for name in shared if not self.facts.stays_as_made(Variable(self.module.name, name))]
            touched += [holders[name] for name in shared]
        reached = {id(inner) for value in touched for inner in reachable(value)}
        parsers = any(isinstance(value, values.PARSERS) for value in touched)
        for value in touched:
            if isinstance(value, argparse.Namespace):
                self.forget_options(node, value)
        for name, value in holders.items() if reached or parsers else ():
            if isinstance(value, argparse.Namespace):
                continue
            if any(id(inner) in reached for inner in reachable(value)) or (
                parsers and isinstance(value, values.PARSERS)
            ):
                self.variables[name] = UNKNOWN

    def forget_options(self, node: ast.AST, namespace: argparse.Namespace) -> None:
        """Make unknown which options code may set: those that some statement sets by name, or all."""
        everything = any(
            (isinstance(child, ast.Name) and child.id in ("setattr", "delattr"))
            or (isinstance(child, ast.Attribute) and child.attr == "__dict__")
            or (
                isinstance(child, ast.Call)
                and isinstance(child.func, ast.Name)
                and child.func.id == "vars"
                and not self.facts.is_only_read(self.module, child)
            )
            for child in trees.nodes(node)
        )
        parsed = self.facts.parsed.get(id(namespace))
        everything = everything or (parsed is not None and parsed.call in self.facts.escaped)
        known = {child for store in self.stores.get(id(namespace), ()) for child in trees.nodes(store)} | self.dead
        for name in vars(namespace):
            if everything or any(target not in known for target in self.facts.stored.get(name, ())):
                setattr(namespace, name, UNKNOWN)
        new = (n for n, targets in self.facts.stored.items() if any(target not in known for target in targets))
        self.facts.additions.setdefault(id(namespace), set()).update(["", *self.facts.stored] if everything else new)


def tells(node: ast.AST) -> bool:
    """Whether what an expression gives is the value of the knob that it reads: `int(read("X"))`, `read("X") == "1"`,
    not `int(read("X")) > 3`.
    """
    orders = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
    if isinstance(node, ast.Compare):
        return not any(isinstance(op, orders) for op in node.ops)
    return isinstance(node, (ast.Call, ast.Subscript))


def variable_of(node: ast.AST, reads: list[str]) -> str | None:
    """The one variable that a call is about: the only one that it reads, or the only one of them that it names."""
    names = list(dict.fromkeys(reads))
    if len(names) > 1 and isinstance(node, ast.Call):
        written = [one.value for one in node.args if isinstance(one, ast.Constant)]
        names = [name for name in names if name in written]
    return names[0] if len(names) == 1 else None
