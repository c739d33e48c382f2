"""Who binds a name: the scopes of one file, what each binding is made from, and under which conditions.

`values(name, node)` answers what a variable, an attribute or a parameter may hold; it is what makes a condition that is
hidden behind a variable, an attribute, a property or a helper readable to the rules.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from scorer.rules.source import Function, Source

Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.Module
Key = tuple[int, str]  # (id of the scope, name)


@dataclass(frozen=True)
class Binding:
    """One place that gives a name its value."""

    value: ast.AST | None  # what it is made from; None: a parameter, an import, the name of an exception
    whole: bool  # False: an element of the value (unpacking, a loop)
    tests: tuple[ast.AST, ...]  # conditions around the place, and `try` statements that it stands in
    node: ast.AST
    parameter: bool = False


@dataclass
class Members:
    """What stands under one attribute name, whatever the object: values assigned, methods and properties defined."""

    values: list[Binding] = field(default_factory=list)
    methods: list[Function] = field(default_factory=list)


class Scopes:
    """The scopes of a file. Class bodies are no scopes for what stands inside their methods."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.module: Scope = source.tree
        self.owner: dict[int, Scope] = {}  # node -> the function or module around it
        self.parents: dict[int, ast.AST] = {}
        self.bindings: dict[Key, list[Binding]] = {}
        self.members: dict[str, Members] = {}
        self.calls: dict[str, list[ast.Call]] = {}  # last part of the callee's name -> calls
        self.outer: dict[int, Scope | None] = {id(source.tree): None}
        self._globals: set[Key] = set()
        self._visit(source.tree.body, source.tree, None, ())

    def key(self, name: str, node: ast.AST) -> Key | None:
        """The variable that a name means at a node; None: no scope of the file binds it."""
        scope: Scope | None = self.owner.get(id(node), self.module)
        while scope is not None:
            key = (id(scope), name)
            if key in self.bindings and key not in self._globals:
                return key
            scope = self.outer[id(scope)]
        return None

    def of(self, name: str, node: ast.AST) -> list[Binding]:
        """The bindings of the variable that a name means at a node."""
        key = self.key(name, node)
        return self.bindings[key] if key else []

    def function(self, callee: ast.AST) -> Function | None:
        """The file's own function or method that an expression names; None where it is none, or where several fit."""
        if isinstance(callee, ast.Name):
            found = [b.node for b in self.of(callee.id, callee) if isinstance(b.node, Function)]
            return found[0] if len(found) == 1 else None
        if not isinstance(callee, ast.Attribute) or not isinstance(callee.value, ast.Name):
            return None
        if callee.value.id not in {"self", "cls"} and not self.class_of(callee.value):
            return None
        methods = self.members[callee.attr].methods if callee.attr in self.members else []
        return methods[0] if len(methods) == 1 else None

    def class_of(self, node: ast.AST) -> ast.ClassDef | None:
        """The file's own class that a name means, or that the name's value is an instance of."""
        if not isinstance(node, ast.Name):
            return None
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
        parent = self.parents.get(id(function))
        if function.name == "__init__" and isinstance(parent, ast.ClassDef):
            called_as = parent.name
        for call in self.calls.get(called_as, ()):
            position = names.index(name) - skip if name in names else None
            if position is not None and 0 <= position < len(call.args):
                yield call.args[position]
            yield from (k.value for k in call.keywords if k.arg == name)

    # --- building ---

    def _bind(self, scope: Scope, name: str, binding: Binding) -> None:
        key = (id(scope), name)
        if key in self._globals:
            key = (id(self.module), name)
        self.bindings.setdefault(key, []).append(binding)

    def _target(
        self, target: ast.AST, value: ast.AST | None, whole: bool, scope: Scope, tests: tuple[ast.AST, ...]
    ) -> None:
        if isinstance(target, ast.Name):
            self._bind(scope, target.id, Binding(value, whole, tests, target))
        elif isinstance(target, ast.Attribute):
            self.members.setdefault(target.attr, Members()).values.append(Binding(value, whole, tests, target))
        elif isinstance(target, (ast.Tuple, ast.List)):
            pairs = isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts) and whole
            for index, element in enumerate(target.elts):
                if pairs and isinstance(value, (ast.Tuple, ast.List)):
                    self._target(element, value.elts[index], True, scope, tests)
                else:
                    self._target(element, value, False, scope, tests)
        elif isinstance(target, ast.Starred):
            self._target(target.value, value, False, scope, tests)
        elif isinstance(target, ast.Subscript) and value is not None:
            self._target(target.value, value, False, scope, tests)  # table[key] = value

    def _visit(
        self, nodes: Sequence[ast.AST], scope: Scope, parent: ast.AST | None, tests: tuple[ast.AST, ...]
    ) -> None:
        for node in nodes:
            self.owner[id(node)] = scope
            if parent is not None:
                self.parents[id(node)] = parent
            self._enter(node, scope, parent, tests)

    def _enter(self, node: ast.AST, scope: Scope, parent: ast.AST | None, tests: tuple[ast.AST, ...]) -> None:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            self._function(node, scope, parent, tests)
            return
        if isinstance(node, ast.ClassDef):
            self._bind(scope, node.name, Binding(node, True, tests, node))
            for statement in node.body:
                if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                    member = Binding(statement.value, True, tests, statement)
                    self.members.setdefault(statement.target.id, Members()).values.append(member)
                elif isinstance(statement, ast.Assign):
                    for target in statement.targets:
                        if isinstance(target, ast.Name):
                            member = Binding(statement.value, True, tests, statement)
                            self.members.setdefault(target.id, Members()).values.append(member)
        elif isinstance(node, ast.Global):
            self._globals |= {(id(scope), name) for name in node.names}
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                self._target(target, node.value, True, scope, tests)
        elif isinstance(node, (ast.AnnAssign, ast.AugAssign, ast.NamedExpr)):
            self._target(node.target, node.value, True, scope, tests)
        elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
            self._target(node.target, node.iter, False, scope, tests)
        elif isinstance(node, ast.withitem) and node.optional_vars is not None:
            self._target(node.optional_vars, node.context_expr, True, scope, tests)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            self._bind(scope, node.name, Binding(None, True, tests, node))
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                self._bind(scope, (alias.asname or alias.name).partition(".")[0], Binding(None, True, tests, node))
        elif isinstance(node, (ast.MatchAs, ast.MatchStar)) and node.name:
            self._bind(scope, node.name, Binding(None, False, tests, node))
        elif isinstance(node, ast.Call):
            last = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            self.calls.setdefault(last, []).append(node)
        self._children(node, scope, tests)

    def _children(self, node: ast.AST, scope: Scope, tests: tuple[ast.AST, ...]) -> None:
        if isinstance(node, (ast.If, ast.While)):
            self._visit([node.test], scope, node, tests)
            self._visit([*node.body, *node.orelse], scope, node, (*tests, node.test))
        elif isinstance(node, ast.Match):
            self._visit([node.subject], scope, node, tests)
            self._visit(node.cases, scope, node, (*tests, node.subject))
        elif isinstance(node, ast.Try | ast.TryStar):
            self._visit(list(ast.iter_child_nodes(node)), scope, node, (*tests, node))
        else:
            self._visit(list(ast.iter_child_nodes(node)), scope, node, tests)

    def _function(
        self,
        node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda,
        scope: Scope,
        parent: ast.AST | None,
        tests: tuple[ast.AST, ...],
    ) -> None:
        self.outer[id(node)] = scope
        if isinstance(node, Function):
            if isinstance(parent, ast.ClassDef):
                self.members.setdefault(node.name, Members()).methods.append(node)
            else:
                self._bind(scope, node.name, Binding(node, True, tests, node))
            self._visit([*node.decorator_list], scope, node, tests)
        arguments = node.args
        self._visit([*arguments.defaults, *(d for d in arguments.kw_defaults if d is not None)], scope, node, tests)
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
        for argument in every:
            if argument is not None:
                self._bind(node, argument.arg, Binding(None, True, (), argument, parameter=True))
        body = node.body if isinstance(node.body, list) else [node.body]
        for statement in body:
            for inner in _globals_of(statement):
                self._globals |= {(id(node), name) for name in inner.names}
        self._visit(body, node, node, ())


def _globals_of(statement: ast.AST) -> Iterator[ast.Global]:
    if isinstance(statement, ast.Global):
        yield statement


@lru_cache(maxsize=1)
def scopes(source: Source) -> Scopes:
    """One table for all the checks of one file."""
    return Scopes(source)
