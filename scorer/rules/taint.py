"""Where the values of some expressions go: through variables, attributes, parameters and what functions return.

mode = Taint(source, lambda node: node.attr == "training", ast.Attribute)
mode.inside(condition)          # the condition depends on it
"""

from __future__ import annotations

import ast
from bisect import bisect_left, insort
from collections.abc import Callable, Iterable

from scorer.rules.scopes import Key, Scopes, scopes
from scorer.rules.source import Function, Source
from scorer.rules.tree import Tree

# Calls whose result says what their argument says.
PASSES = {
    *(
        "builtins.bool",
        "builtins.int",
        "builtins.float",
        "builtins.str",
        "builtins.repr",
        "builtins.hash",
        "builtins.len",
    ),
    *("builtins.any", "builtins.all", "builtins.sum", "builtins.next", "builtins.iter", "builtins.list"),
    *("builtins.tuple", "builtins.dict", "builtins.set", "builtins.sorted", "builtins.reversed", "builtins.enumerate"),
    *("torch.tensor", "torch.as_tensor", "torch.equal", "torch.allclose", "torch.any", "torch.all"),
}


class Taint:
    """Every expression of a file whose value comes from one of the expressions, of some kinds, that `start` accepts."""

    def __init__(self, source: Source, start: Callable[[ast.AST], bool], *kinds: type[ast.AST]) -> None:
        self._source = source
        self._tree: Tree = source.scopes
        self._scopes: Scopes = scopes(source)
        self._marked: set[int] = set()
        self._places: list[int] = []
        found = [node for node in self._tree.every(*kinds) if start(node)]
        self.any = bool(found)
        if found:
            self._mark(found)
            self._spread()

    def inside(self, node: ast.AST) -> bool:
        """Whether an expression's value depends on the marked ones."""
        return self._touched(node) and self._depends(node)

    def marked(self, node: ast.AST) -> bool:
        """Whether a node is itself a marked expression."""
        return id(node) in self._marked

    def _touched(self, node: ast.AST) -> bool:
        first, last = self._tree.span(node)
        position = bisect_left(self._places, first)
        return position < len(self._places) and self._places[position] < last

    def _mark(self, nodes: Iterable[ast.AST]) -> None:
        for node in nodes:
            if id(node) not in self._marked:
                self._marked.add(id(node))
                insort(self._places, self._tree.span(node)[0])

    def _depends(self, node: ast.AST) -> bool:
        if id(node) in self._marked:
            return True
        if not self._touched(node):
            return False
        if isinstance(node, ast.Call):
            if self._source.resolve(node.func) in PASSES:
                return any(self._depends(a) for a in (*node.args, *(k.value for k in node.keywords)))
            return isinstance(node.func, ast.Attribute) and self._depends(node.func.value)  # mode.startswith("t")
        if isinstance(node, (ast.Lambda, ast.Attribute)):
            return False
        return any(self._depends(child) for child in ast.iter_child_nodes(node))

    def _flows(self, node: ast.AST) -> bool:
        """Whether an expression hands a marked value on, rather than choosing between other values by it."""
        if not self._touched(node):
            return False
        if id(node) in self._marked:
            return True
        if isinstance(node, ast.IfExp):
            plain = all(isinstance(side, ast.Constant) for side in (node.body, node.orelse))
            return self._depends(node.test) if plain else self._flows(node.body) or self._flows(node.orelse)
        if isinstance(node, ast.BoolOp):
            return self._depends(node) and not any(isinstance(v, (ast.BinOp, ast.Call)) for v in _leaves(node))
        if isinstance(node, ast.BinOp):
            sides = (node.left, node.right)
            return all(isinstance(side, ast.Constant) or self._flows(side) for side in sides)
        if isinstance(node, (ast.Subscript, ast.Starred, ast.NamedExpr)):
            return self._flows(node.value)
        if isinstance(node, ast.Call):
            return self._source.resolve(node.func) in PASSES and any(map(self._flows, node.args))
        return isinstance(node, (ast.Compare, ast.UnaryOp)) and self._depends(node)

    def _spread(self) -> None:
        names: dict[str, list[ast.Name]] = {}
        attributes: dict[str, list[ast.Attribute]] = {}
        for name_node in self._tree.every(ast.Name):
            if isinstance(name_node.ctx, ast.Load):
                names.setdefault(name_node.id, []).append(name_node)
        for attribute in self._tree.every(ast.Attribute):
            if isinstance(attribute.ctx, ast.Load):
                attributes.setdefault(attribute.attr, []).append(attribute)
        calls = self._tree.every(ast.Call)
        returns = [
            (f, [n.value for n in self._tree.inside(f, ast.Return, ast.Yield) if n.value])
            for f in self._source.functions
        ]
        reached: set[Key] = set()
        members: set[str] = set()
        functions: set[int] = set()
        for with_parameters in (False, True):  # what a function returns of its parameters is nobody else's
            before = -1
            while before != len(self._places):
                before = len(self._places)
                for key, bindings in self._scopes.bindings.items():
                    if key not in reached and any(b.value is not None and self._flows(b.value) for b in bindings):
                        reached.add(key)
                        self._mark(n for n in names.get(key[1], ()) if self._scopes.key(n.id, n) == key)
                for name, held in self._scopes.members.items():
                    if name not in members and any(b.value is not None and self._flows(b.value) for b in held.values):
                        members.add(name)
                        self._mark(attributes.get(name, ()))
                if with_parameters:
                    for function in self._source.functions:
                        self._give(function, names, reached)
                    continue
                for function, values in returns:
                    if id(function) not in functions and any(map(self._flows, values)):
                        functions.add(id(function))
                        self._mark(call for call in calls if self._scopes.function(call.func) is function)
                        if _is_property(function):
                            self._mark(attributes.get(function.name, ()))

    def _give(self, function: Function, names: dict[str, list[ast.Name]], reached: set[Key]) -> None:
        """Mark the parameters of a function to which every call of the file gives a marked value, or a constant."""
        for argument in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs):
            key = (id(function), argument.arg)
            if key in reached:
                continue
            given = list(self._scopes.arguments(function, argument.arg))
            flows = [self._flows(value) for value in given]
            if any(flows) and all(f or isinstance(v, ast.Constant) for f, v in zip(flows, given, strict=True)):
                reached.add(key)
                self._mark(n for n in names.get(argument.arg, ()) if self._scopes.key(n.id, n) == key)


def _leaves(node: ast.expr) -> list[ast.expr]:
    """What `a and b or c` is made of."""
    return [leaf for v in node.values for leaf in _leaves(v)] if isinstance(node, ast.BoolOp) else [node]


def _is_property(function: Function) -> bool:
    last = [d.attr if isinstance(d, ast.Attribute) else getattr(d, "id", "") for d in function.decorator_list]
    return any(name in {"property", "cached_property"} for name in last)
