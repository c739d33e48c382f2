"""Which values reach a parameter: the call sites of a file's own functions."""

from __future__ import annotations

import ast

from scorer.rules.tree import Callable, Function, Tree, Way


class Calls:
    """Call sites of the functions, methods and named lambdas of one file."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._names: dict[str, list[ast.Name]] | None = None
        self._attributes: dict[str, list[ast.Attribute]] = {}
        self._sites: dict[int, tuple[list[ast.Call], bool]] = {}
        self._arguments: dict[tuple[int, str], tuple[list[ast.expr], bool]] = {}
        self._partly: dict[int, list[tuple[ast.Call, bool]]] = {}  # `partial(f, a)` by f; whether f is bound already

    def sites(self, function: Callable) -> tuple[list[ast.Call], bool]:
        """The calls of a function, and whether they are all there can be inside this file."""
        if id(function) not in self._sites:
            self._sites[id(function)] = self._find(function)
        return self._sites[id(function)]

    def arguments(self, function: Callable, parameter: str) -> tuple[list[ast.expr], bool]:
        """The expressions that a parameter gets its value from, and whether no other can reach it."""
        key = (id(function), parameter)
        if key not in self._arguments:
            self._arguments[key] = self._passed(function, parameter)
        return self._arguments[key]

    def _passed(self, function: Callable, parameter: str) -> tuple[list[ast.expr], bool]:
        calls, complete = self.sites(function)
        arguments = function.args
        positional = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
        defaults: dict[str, ast.expr] = dict(
            zip(positional[len(positional) - len(arguments.defaults) :], arguments.defaults, strict=True)
        )
        for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
            if default is not None:
                defaults[argument.arg] = default
        method = self._is_method(function)
        found: list[ast.expr] = []
        for call in calls:
            passed = [*positional[1:]] if method and isinstance(call.func, ast.Attribute) else positional
            given = next((keyword.value for keyword in call.keywords if keyword.arg == parameter), None)
            spread = any(isinstance(argument, ast.Starred) for argument in call.args)
            if given is None and parameter in passed and not spread:
                place = passed.index(parameter)
                given = call.args[place] if place < len(call.args) else None
            if given is not None:
                found.append(given)
            elif parameter in defaults and not spread and all(keyword.arg for keyword in call.keywords):
                found.append(defaults[parameter])
            else:
                complete = False
        for partial, bound in self._partly.get(id(function), ()):
            places = positional[1:] if bound else positional
            found.extend(value for name, value in zip(places, partial.args[1:], strict=False) if name == parameter)
            found.extend(keyword.value for keyword in partial.keywords if keyword.arg == parameter)
        return found, complete and bool(calls)

    def _is_method(self, function: Callable) -> bool:
        if not isinstance(function, Function) or not isinstance(self._tree.scope(function).node, ast.ClassDef):
            return False
        return not any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in function.decorator_list)

    def _find(self, function: Callable) -> tuple[list[ast.Call], bool]:
        around = self._tree.parent(function)
        if isinstance(around, ast.Call) and around.func is function:  # (lambda x: ...)(value)
            return [around], True
        name = self._name(function)
        if name is None:
            return [], False
        if self._names is None:
            self._names = {}
            for name_node in self._tree.every(ast.Name):
                if isinstance(name_node.ctx, ast.Load):
                    self._names.setdefault(name_node.id, []).append(name_node)
            for attribute in self._tree.every(ast.Attribute):
                if isinstance(attribute.ctx, ast.Load):
                    self._attributes.setdefault(attribute.attr, []).append(attribute)
        scope = self._tree.scope(function)
        mentions: list[ast.expr] = []
        for mention in self._names.get(name, ()):
            looked_up = self._tree.scope(mention).look_up(name)
            if looked_up is not None and looked_up[0] is scope:
                mentions.append(mention)
        if isinstance(scope.node, ast.ClassDef):
            mentions.extend(self._attributes.get(name, ()))
        calls, complete = [], len(scope.bindings.get(name, ())) == 1
        for expression in mentions:
            parent = self._tree.parent(expression)
            if isinstance(parent, ast.Call) and parent.func is expression:
                calls.append(parent)
            else:
                complete = False
                if isinstance(parent, ast.Call) and parent.args[:1] == [expression]:
                    called = parent.func
                    maker = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
                    if maker in ("partial", "partialmethod"):
                        bound = maker == "partialmethod" or isinstance(expression, ast.Attribute)
                        self._partly.setdefault(id(function), []).append((parent, bound and self._is_method(function)))
        return calls, complete

    def _name(self, function: Callable) -> str | None:
        if isinstance(function, Function):
            return function.name
        parent = self._tree.parent(function)
        target = parent.targets[0] if isinstance(parent, ast.Assign) and len(parent.targets) == 1 else None
        return target.id if isinstance(target, ast.Name) else None

    def returned(self, function: Callable) -> list[ast.expr]:
        """The expressions that a function of the file gives back."""
        if isinstance(function, ast.Lambda):
            return [function.body]
        return [node.value for node in self._tree.inside(function, ast.Return) if node.value is not None]

    def class_of(self, node: ast.expr) -> ast.ClassDef | None:
        """The file's own class that an expression is or is an object of: `Own`, `Own()`, `self`, `x` of `x = Own()`."""
        return self._class_of(node, set())

    def _class_of(self, node: ast.expr, seen: set[int]) -> ast.ClassDef | None:
        """`seen` are expressions on the way here: `block = block(1)` leads back to itself."""
        if isinstance(node, ast.Call):
            node = node.func
        if not isinstance(node, ast.Name) or id(node) in seen:
            return None
        seen.add(id(node))
        around = self._tree.class_around(self._tree.scope(node), node.id)
        if around is not None:
            return around
        looked_up = self._tree.scope(node).look_up(node.id)
        if looked_up is None or len(looked_up[1]) != 1:
            return None
        bound = looked_up[1][0]
        if isinstance(bound.node, ast.ClassDef):
            return bound.node
        return self._class_of(bound.node, seen) if bound.way is Way.VALUE and isinstance(bound.node, ast.Call) else None

    def definition(self, callee: ast.expr) -> Callable | None:
        """The file's own function that a callee names, where it can be no other."""
        if isinstance(callee, ast.Lambda):
            return callee
        if isinstance(callee, ast.Name):
            looked_up = self._tree.scope(callee).look_up(callee.id)
            if looked_up is None or len(looked_up[1]) != 1:
                return None
            binding = looked_up[1][0]
            if binding.way in (Way.DEFINITION, Way.VALUE) and isinstance(
                binding.node, (*Function.__args__, ast.Lambda)
            ):
                return binding.node  # type: ignore[return-value]
            return None
        if isinstance(callee, ast.Attribute) and isinstance(callee.value, ast.Name):
            around = self._tree.class_around(self._tree.scope(callee), callee.value.id)
            bindings = self._tree.inner[id(around)].bindings.get(callee.attr, []) if around is not None else []
            if len(bindings) == 1 and isinstance(bindings[0].node, Function):
                return bindings[0].node
        return None
