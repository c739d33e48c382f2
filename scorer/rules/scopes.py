"""Who binds a name: the scopes of one file, what each binding is made from, and under which conditions.

`values(name, node)` answers what a variable, an attribute or a parameter may hold; it is what makes a condition that is
hidden behind a variable, an attribute, a property or a helper readable to the rules.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from scorer.rules.source import Function, Source
from scorer.rules.tree import COMPREHENSIONS, Scope

# What makes a method of a function without changing what it computes.
WRAPS = {"functools.partial", "functools.partialmethod", "builtins.staticmethod", "builtins.classmethod"}
Key = tuple[int, str]  # (id of the scope, name)


@dataclass(frozen=True)
class Binding:
    """One place that gives a name its value."""

    value: ast.AST | None  # what it is made from; None: a parameter, an import, the name of an exception
    whole: bool  # False: an element of the value (unpacking, a loop)
    node: ast.AST
    parameter: bool = False


@dataclass
class Members:
    """What stands under one attribute name, whatever the object: values assigned, methods and properties defined."""

    values: list[Binding] = field(default_factory=list)
    methods: list[Function] = field(default_factory=list)


class Scopes:
    """The variables of a file's functions and of its module; classes and comprehensions have none of their own."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.bindings: dict[Key, list[Binding]] = {}
        self.members: dict[str, Members] = {}
        self.calls: dict[str, list[ast.Call]] = {}  # last part of the callee's name -> calls
        self._keys: dict[int, Key | None] = {}  # of names that were looked up
        self._functions: dict[int, Function | None] = {}  # and what they name, by id
        self._classes: dict[int, ast.ClassDef | None] = {}
        self._owners: dict[int, Scope] = {}  # by the scope's id
        self._tests: dict[int, tuple[ast.AST, ...]] = {}
        for node in source.nodes:
            self._enter(node)

    def owner(self, node: ast.AST) -> Scope:
        """The scope of the function, lambda or module around a node."""
        around = scope = self._source.scopes.scope(node)
        if id(around) not in self._owners:
            while isinstance(scope.node, (ast.ClassDef, *COMPREHENSIONS)) and scope.parent is not None:
                scope = scope.parent
            self._owners[id(around)] = scope
        return self._owners[id(around)]

    def key(self, name: str, node: ast.AST) -> Key | None:
        """The variable that a name means at a node; None: no scope of the file binds it."""
        if id(node) in self._keys:
            return self._keys[id(node)]
        scope: Scope | None = self._source.scopes.scopes.get(id(node), self._source.scopes.module)
        found: Key | None = None
        while scope is not None:
            scope = scope.elsewhere.get(name, scope)
            key = (id(scope.node), name)
            if key in self.bindings:
                found = key
                break
            scope = scope.parent
        if isinstance(node, ast.Name) and node.id == name:
            self._keys[id(node)] = found
        return found

    def tests(self, binding: Binding) -> tuple[ast.AST, ...]:
        """The conditions around a binding, within its function, and the `try` statements that it stands in."""
        if id(binding.node) not in self._tests:
            found: list[ast.AST] = []
            node: ast.AST = binding.node
            around = self._source.parent(node)
            while around is not None and not isinstance(around, (Function, ast.Lambda, ast.ClassDef)):
                if isinstance(around, (ast.If, ast.While)) and node is not around.test:
                    found.append(around.test)
                elif isinstance(around, ast.match_case):
                    match = self._source.parent(around)
                    found.append(match.subject if isinstance(match, ast.Match) else around)
                elif isinstance(around, ast.Try | ast.TryStar):
                    found.append(around)
                node, around = around, self._source.parent(around)
            self._tests[id(binding.node)] = tuple(found)
        return self._tests[id(binding.node)]

    def of(self, name: str, node: ast.AST) -> list[Binding]:
        """The bindings of the variable that a name means at a node."""
        key = self.key(name, node)
        return self.bindings[key] if key else []

    def function(self, callee: ast.AST) -> Function | None:
        """The file's own function or method that an expression names; None where it is none, or where several fit."""
        if id(callee) not in self._source.scopes.scopes:  # a caller's own node, whose id another may have later
            return self._function(callee)
        if id(callee) not in self._functions:
            self._functions[id(callee)] = self._function(callee)
        return self._functions[id(callee)]

    def _function(self, callee: ast.AST) -> Function | None:
        if isinstance(callee, ast.Name):
            found = [b.node for b in self.of(callee.id, callee) if isinstance(b.node, Function)]
            return found[0] if len(found) == 1 else None
        if not isinstance(callee, ast.Attribute) or not isinstance(callee.value, ast.Name):
            return None
        tree = self._source.scopes
        around = tree.class_around(tree.scopes.get(id(callee)), callee.value.id) or self.class_of(callee.value)
        return self._method(around, callee.attr, set()) if around is not None else None

    def _method(self, owner: ast.ClassDef, name: str, seen: set[int]) -> Function | None:
        """A method of a class, or of those of the file that it derives from."""
        if id(owner) in seen:
            return None
        seen.add(id(owner))
        for statement in owner.body:
            if isinstance(statement, Function) and statement.name == name:
                return statement
            if isinstance(statement, ast.Assign) and any(getattr(t, "id", "") == name for t in statement.targets):
                return self._made_of(owner, statement.value)
        bases = [self.class_of(base) for base in owner.bases]
        found = (self._method(base, name, seen) for base in bases if base is not None)
        return next((method for method in found if method is not None), None)

    def _made_of(self, owner: ast.ClassDef, value: ast.expr) -> Function | None:
        """The function that a class's own name stands for: `fast = partialmethod(_norm, True)`, `fast = _norm`."""
        while isinstance(value, ast.Call) and self._source.resolve(value.func) in WRAPS and value.args:
            value = value.args[0]
        if not isinstance(value, ast.Name):
            return None
        inside = [s for s in owner.body if isinstance(s, Function) and s.name == value.id]
        return inside[-1] if inside else self.function(value)

    def class_of(self, node: ast.AST) -> ast.ClassDef | None:
        """The file's own class that a name means, or that the name's value is an instance of."""
        if not isinstance(node, ast.Name):
            return None
        if id(node) not in self._source.scopes.scopes:
            return self._class_of(node)
        if id(node) not in self._classes:
            self._classes[id(node)] = self._class_of(node)
        return self._classes[id(node)]

    def _class_of(self, node: ast.Name) -> ast.ClassDef | None:
        for binding in self.of(node.id, node):
            if isinstance(binding.node, ast.ClassDef):
                return binding.node
            if isinstance(binding.value, ast.Call) and isinstance(binding.value.func, ast.Name) and binding.whole:
                for made_by in self.of(binding.value.func.id, binding.value):
                    if isinstance(made_by.node, ast.ClassDef):
                        return made_by.node
        return None

    def arguments(self, function: Function, name: str) -> Iterator[ast.expr]:
        """What the file's calls of a function give for one of its parameters, its default included."""
        arguments = function.args
        names = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
        if name in names:
            first_default = len(names) - len(arguments.defaults)
            if names.index(name) >= first_default:
                yield arguments.defaults[names.index(name) - first_default]
        for parameter, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
            if parameter.arg == name and default is not None:
                yield default
        skip = 1 if names[:1] in (["self"], ["cls"]) else 0
        called_as = function.name
        parent = self._source.parent(function)
        if function.name == "__init__" and isinstance(parent, ast.ClassDef):
            called_as = parent.name
        for call in self.calls.get(called_as, ()):
            position = names.index(name) - skip if name in names else None
            if position is not None and 0 <= position < len(call.args):
                yield call.args[position]
            yield from (k.value for k in call.keywords if k.arg == name)

    # --- building ---

    def _bind(self, name: str, at: ast.AST, binding: Binding) -> None:
        scope = self.owner(at)
        scope = scope.elsewhere.get(name, scope)
        self.bindings.setdefault((id(scope.node), name), []).append(binding)

    def _target(self, target: ast.AST, value: ast.AST | None, whole: bool) -> None:
        if isinstance(target, ast.Name):
            self._bind(target.id, target, Binding(value, whole, target))
        elif isinstance(target, ast.Attribute):
            self.members.setdefault(target.attr, Members()).values.append(Binding(value, whole, target))
        elif isinstance(target, (ast.Tuple, ast.List)):
            pairs = isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts) and whole
            for index, element in enumerate(target.elts):
                if pairs and isinstance(value, (ast.Tuple, ast.List)):
                    self._target(element, value.elts[index], True)
                else:
                    self._target(element, value, False)
        elif isinstance(target, ast.Starred):
            self._target(target.value, value, False)
        elif isinstance(target, ast.Subscript) and value is not None:  # table[key] = value
            found = (
                self._source.scopes.scope(target).look_up(target.value.id)
                if isinstance(target.value, ast.Name)
                else None
            )
            if found is not None and isinstance(target.value, ast.Name):
                key = (id(found[0].node), target.value.id)
                self.bindings.setdefault(key, []).append(Binding(value, False, target.value))
            elif not isinstance(target.value, ast.Name):
                self._target(target.value, value, False)

    def _enter(self, node: ast.AST) -> None:
        """Enter what a node binds."""
        if isinstance(node, (ast.Name, ast.Constant, ast.Attribute)):
            return
        if isinstance(node, ast.Call):
            last = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            self.calls.setdefault(last, []).append(node)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                self._target(target, node.value, True)
                self._field(target, node, node.value)
        elif isinstance(node, (ast.AnnAssign, ast.AugAssign, ast.NamedExpr)):
            self._target(node.target, node.value, True)
            if isinstance(node, ast.AnnAssign):
                self._field(node.target, node, node.value)
        elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
            self._target(node.target, node.iter, False)
        elif isinstance(node, ast.withitem):
            if node.optional_vars is not None:
                self._target(node.optional_vars, node.context_expr, True)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            self._define(node)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                self._bind((alias.asname or alias.name).partition(".")[0], node, Binding(None, True, node))
        elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
            self._bind(node.name, node, Binding(None, False, node))

    def _field(self, target: ast.AST, node: ast.AST, value: ast.AST | None) -> None:
        """Enter what a class body assigns: it is read as an attribute."""
        if isinstance(target, ast.Name) and isinstance(self._source.parent(node), ast.ClassDef):
            self.members.setdefault(target.id, Members()).values.append(Binding(value, True, node))

    def _define(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda) -> None:
        if isinstance(node, Function) and isinstance(self._source.parent(node), ast.ClassDef):
            self.members.setdefault(node.name, Members()).methods.append(node)
        elif not isinstance(node, ast.Lambda):
            self._bind(node.name, node, Binding(node, True, node))
        if isinstance(node, ast.ClassDef):
            return
        arguments = node.args
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
        for argument in every:
            if argument is not None:
                binding = Binding(None, True, argument, parameter=True)
                self.bindings.setdefault((id(node), argument.arg), []).append(binding)


@lru_cache(maxsize=1)
def scopes(source: Source) -> Scopes:
    """One table for all the checks of one file."""
    return Scopes(source)
