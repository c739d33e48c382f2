"""Where the names of a file are bound: every scope with what is imported, assigned, passed or defined in it."""

from __future__ import annotations

import ast
from bisect import bisect_left
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, TypeVar, overload

Function = ast.FunctionDef | ast.AsyncFunctionDef
Callable = Function | ast.Lambda
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
# What holds lists of statements.
BLOCKS = (
    *(ast.Module, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.If, ast.For, ast.AsyncFor, ast.While),
    *(ast.With, ast.AsyncWith, ast.Try, ast.TryStar, ast.ExceptHandler, ast.match_case),
)
N = TypeVar("N", bound=ast.AST)
_SCOPES = {ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, *COMPREHENSIONS}
_BINDING = {
    *(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, ast.Assign, ast.AnnAssign, ast.AugAssign),
    *(ast.NamedExpr, ast.For, ast.AsyncFor, ast.comprehension, ast.withitem, ast.Import, ast.ImportFrom, ast.Global),
    *(ast.Nonlocal, ast.ExceptHandler, ast.MatchAs, ast.MatchStar, ast.MatchMapping),
}
# Nodes of which some parts are evaluated elsewhere, or only name a type.
_PARTED = {ast.arguments, ast.comprehension, ast.arg, ast.AnnAssign, ast.ExceptHandler, ast.Call}
# The fields of each kind that may hold nodes, and not contexts, operators or plain text.
_WITHOUT_NODES = {"ctx", "op", "ops", "id", "attr", "arg", "kind", "module", "level", "asname", "type_comment"}
_FIELDS: dict[type[ast.AST], list[str]] = {
    kind: [name for name in kind._fields if name not in _WITHOUT_NODES]
    for kind in vars(ast).values()
    if isinstance(kind, type) and issubclass(kind, ast.AST)
}


class Way(Enum):
    """How a name comes by its value."""

    IMPORT = auto()  # text: the full name of what was imported
    VALUE = auto()  # node: the expression
    ELEMENT = auto()  # node: the expression that is iterated over; path: where in an element, if it is unpacked
    PARAMETER = auto()  # node: the function
    DEFINITION = auto()  # node: the function or class
    OTHER = auto()


@dataclass(frozen=True, slots=True)
class Binding:
    """One place that gives a name a value."""

    way: Way
    node: ast.AST
    text: str = ""
    path: tuple[int, ...] = ()


@dataclass(eq=False, slots=True)
class Scope:
    """A module, class, function, lambda or comprehension."""

    node: ast.AST
    parent: Scope | None = None
    bindings: dict[str, list[Binding]] = field(default_factory=dict)
    elsewhere: dict[str, Scope] = field(default_factory=dict)  # names declared global or nonlocal

    @property
    def module(self) -> Scope:
        """The outermost scope."""
        scope = self
        while scope.parent is not None:
            scope = scope.parent
        return scope

    def bind(self, name: str, binding: Binding) -> None:
        """Enter a binding where Python puts it."""
        self.elsewhere.get(name, self).bindings.setdefault(name, []).append(binding)

    def look_up(self, name: str) -> tuple[Scope, list[Binding]] | None:
        """The scope that a name belongs to when it is read here, and its bindings; None where the file binds none."""
        scope: Scope | None = self.elsewhere.get(name, self)
        first = scope
        while scope is not None:
            if name in scope.bindings and not isinstance(scope.node, ast.ClassDef):
                return scope, scope.bindings[name]
            if name in scope.bindings and scope is first:  # before it is bound, the name is that of the scope around
                outer = scope.parent.look_up(name) if scope.parent else None
                return scope, [*scope.bindings[name], *(outer[1] if outer else ())]
            scope = scope.parent
        return None


class Tree:
    """A file's nodes, outer before inner ones in the order of the text, with the scope of each.

    Contexts and operators (`Load()`, `Add()`) are shared between nodes and are left out.
    """

    def __init__(self, module: ast.Module) -> None:
        self.module = Scope(module)
        self.nodes: list[ast.AST] = []
        self.scopes: dict[int, Scope] = {}  # by id
        self.inner: dict[int, Scope] = {}  # id of a function, class, lambda or comprehension -> its own scope
        self.merely_named: set[int] = set()  # ids of annotations' and `except` clauses' nodes: types, not uses
        self.members: dict[tuple[int, str], list[ast.expr]] = {}  # (id of class, attribute) -> values it is given
        self.star_imports: list[str] = []
        self._by_kind: dict[type[ast.AST], list[int]] = {}  # places
        self._kinds: dict[tuple[type[ast.AST], ...], tuple[list[int], list[ast.AST]]] = {}
        self._index: dict[int, int] = {}
        self._parents: list[int] = []
        self._visit(module)
        self._ends = [index + 1 for index in range(len(self.nodes))]
        for index in range(len(self.nodes) - 1, 0, -1):
            parent = self._parents[index]
            if self._ends[index] > self._ends[parent]:
                self._ends[parent] = self._ends[index]

    @overload
    def every(self, kind: type[N], /) -> list[N]: ...
    @overload
    def every(self, *kinds: type[ast.AST]) -> list[Any]: ...
    def every(self, *kinds: type[ast.AST]) -> list[Any]:
        """Every node of some kinds, in the order of the text."""
        return self._of(kinds)[1]

    @overload
    def inside(self, node: ast.AST, kind: type[N], /) -> list[N]: ...
    @overload
    def inside(self, node: ast.AST, *kinds: type[ast.AST]) -> list[Any]: ...
    def inside(self, node: ast.AST, *kinds: type[ast.AST]) -> list[Any]:
        """Of a node and what is inside of it, the nodes of some kinds, in the order of the text."""
        first, last = self.span(node)
        if first == last:
            return [inner for inner in ast.walk(node) if isinstance(inner, kinds)]
        places, nodes = self._of(kinds)
        return nodes[bisect_left(places, first) : bisect_left(places, last)]

    def _of(self, kinds: tuple[type[ast.AST], ...]) -> tuple[list[int], list[ast.AST]]:
        """Where nodes of some kinds are, and the nodes."""
        found = self._kinds.get(kinds)
        if found is None:
            places = sorted(place for kind in kinds for place in self._by_kind.get(kind, ()))
            found = self._kinds[kinds] = places, [self.nodes[place] for place in places]
        return found

    def walk(self, node: ast.AST) -> list[ast.AST]:
        """A node and everything inside it, in the order of the text: `ast.walk` for the price of a slice.

        A node that a check has made itself is walked as it is.
        """
        index = self._index.get(id(node))
        return list(ast.walk(node)) if index is None else self.nodes[index : self._ends[index]]

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Where a node and what is inside of it stand in `nodes`; an empty span for a node that a check has made."""
        index = self._index.get(id(node))
        return (0, 0) if index is None else (index, self._ends[index])

    def place(self, node: ast.AST) -> int:
        """Where in `nodes` a node is."""
        return self._index[id(node)]

    def parent(self, node: ast.AST) -> ast.AST | None:
        """The node around a node; None for the module."""
        index = self._index[id(node)]
        return self.nodes[self._parents[index]] if index else None

    def scope(self, node: ast.AST) -> Scope:
        """The scope in which a node is evaluated."""
        return self.scopes[id(node)]

    def class_around(self, scope: Scope | None, first: str) -> ast.ClassDef | None:
        """The class whose method around this scope has `first` as its first parameter."""
        while scope is not None and scope.parent is not None:
            if isinstance(scope.node, Function) and isinstance(scope.parent.node, ast.ClassDef):
                arguments = [*scope.node.args.posonlyargs, *scope.node.args.args]
                if arguments and arguments[0].arg == first:
                    return scope.parent.node
            scope = scope.parent
        return None

    def _visit(self, module: ast.Module) -> None:
        nodes, index, parents, scopes, inner = self.nodes, self._index, self._parents, self.scopes, self.inner
        by_kind = self._by_kind
        waiting: list[tuple[ast.AST, int, Scope, bool]] = [(module, 0, self.module, False)]
        while waiting:
            node, parent, scope, mere = waiting.pop()
            number = len(nodes)
            nodes.append(node)
            index[id(node)] = number
            parents.append(parent)
            scopes[id(node)] = scope
            if mere:
                self.merely_named.add(id(node))
            kind = type(node)
            by_kind.setdefault(kind, []).append(number)
            if kind is ast.Constant or kind is ast.Name:
                continue
            own = scope
            if kind in _SCOPES:
                own = inner[id(node)] = Scope(node, scope)
            if kind in _BINDING:
                self._bind(node, scope, own)
            plain = own is scope and kind not in _PARTED
            children: list[tuple[ast.AST, int, Scope, bool]] = []
            for name in _FIELDS[kind]:
                value = getattr(node, name, None)
                for position, item in enumerate(value if type(value) is list else (value,)):
                    if isinstance(item, ast.AST):
                        where, merely = (scope, False) if plain else _place(node, name, position, scope, own)
                        children.append((item, number, where, mere or merely))
            children.reverse()
            waiting.extend(children)

    def _bind(self, node: ast.AST, scope: Scope, own: Scope) -> None:
        """Enter what a node binds."""
        if isinstance(node, ast.Assign):
            for target in node.targets:
                self._assign(target, node.value, scope)
        elif isinstance(node, ast.AnnAssign):
            if node.value is not None:
                self._assign(node.target, node.value, scope)
        elif isinstance(node, ast.AugAssign):
            self._other(node.target, scope)
        elif isinstance(node, ast.NamedExpr):
            where = scope
            while isinstance(where.node, COMPREHENSIONS) and where.parent is not None:
                where = where.parent
            where.bind(node.target.id, Binding(Way.VALUE, node.value))
        elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
            self._element(node.target, node.iter, scope)
        elif isinstance(node, ast.withitem):
            if node.optional_vars is not None:
                self._other(node.optional_vars, scope)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            scope.bind(node.name, Binding(Way.DEFINITION, node))
            if not isinstance(node, ast.ClassDef):
                self._parameters(node, own)
        elif isinstance(node, ast.Lambda):
            self._parameters(node, own)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            self._imports(node, scope)
        elif isinstance(node, ast.Global):
            scope.elsewhere.update(dict.fromkeys(node.names, scope.module))
        elif isinstance(node, ast.Nonlocal):
            for name in node.names:
                found = scope.parent.look_up(name) if scope.parent else None
                scope.elsewhere[name] = found[0] if found else scope.parent or scope
        elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)):
            if node.name:
                scope.bind(node.name, Binding(Way.OTHER, node))
        elif isinstance(node, ast.MatchMapping) and node.rest:
            scope.bind(node.rest, Binding(Way.OTHER, node))

    def _assign(self, target: ast.expr, value: ast.expr, scope: Scope) -> None:
        if isinstance(target, ast.Name):
            scope.bind(target.id, Binding(Way.VALUE, value))
            if isinstance(scope.node, ast.ClassDef):
                self.members.setdefault((id(scope.node), target.id), []).append(value)
        elif isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
            around = self.class_around(scope, target.value.id)
            if around is not None:
                self.members.setdefault((id(around), target.attr), []).append(value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            fits = isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts)
            if fits and not any(isinstance(e, ast.Starred) for e in (*target.elts, *value.elts)):  # type: ignore[attr-defined]
                for part, item in zip(target.elts, value.elts, strict=True):  # type: ignore[attr-defined]
                    self._assign(part, item, scope)
            else:
                self._other(target, scope)

    def _element(self, target: ast.expr, iterated: ast.expr, scope: Scope, path: tuple[int, ...] = ()) -> None:
        if isinstance(target, ast.Name):
            scope.bind(target.id, Binding(Way.ELEMENT, iterated, path=path))
        elif isinstance(target, (ast.Tuple, ast.List)) and not any(isinstance(e, ast.Starred) for e in target.elts):
            for place, part in enumerate(target.elts):
                self._element(part, iterated, scope, (*path, place))
        else:
            self._other(target, scope)

    def _other(self, target: ast.AST, scope: Scope) -> None:
        for node in ast.walk(target):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                scope.bind(node.id, Binding(Way.OTHER, target))

    def _parameters(self, function: Callable, own: Scope) -> None:
        arguments = function.args
        for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
            own.bind(argument.arg, Binding(Way.PARAMETER, function, argument.arg))
        for rest in (arguments.vararg, arguments.kwarg):
            if rest is not None:
                own.bind(rest.arg, Binding(Way.OTHER, function))

    def _imports(self, node: ast.Import | ast.ImportFrom, scope: Scope) -> None:
        for alias in node.names:
            if isinstance(node, ast.Import):
                top = alias.name.partition(".")[0]
                full = alias.name if alias.asname else top
                scope.bind(alias.asname or top, Binding(Way.IMPORT, node, full))
            elif node.module and not node.level:
                if alias.name == "*":
                    self.star_imports.append(node.module)
                else:
                    scope.bind(alias.asname or alias.name, Binding(Way.IMPORT, node, f"{node.module}.{alias.name}"))
            else:
                scope.bind(alias.asname or alias.name, Binding(Way.OTHER, node))


def _place(node: ast.AST, name: str, position: int, scope: Scope, own: Scope) -> tuple[Scope, bool]:
    """The scope of a node's child, and whether the child only names a type."""
    if own is not scope:  # a function, class, lambda or comprehension
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            return (own if name in ("body", "args") else scope), name == "returns"
        return own, False
    if isinstance(node, ast.arguments) and name in ("defaults", "kw_defaults"):
        return (scope.parent or scope), False
    if isinstance(node, ast.comprehension) and name == "iter":
        holder = scope.node
        first = isinstance(holder, COMPREHENSIONS) and holder.generators[0] is node
        return (scope.parent if first and scope.parent else scope), False
    if isinstance(node, (ast.arg, ast.AnnAssign)):
        return scope, name == "annotation"
    if isinstance(node, ast.ExceptHandler):
        return scope, name == "type"
    if isinstance(node, ast.Call) and name == "args" and position == 1:
        return scope, isinstance(node.func, ast.Name) and node.func.id in ("isinstance", "issubclass")
    return scope, False
