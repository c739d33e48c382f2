"""Local variables that folding left without a reader: their assignments of plain values, and functions inside of
functions, go as well.

    average = Average() if config.average else None     ->     average = None     ->     (nothing)
    ...
    if config.average:
        average.update(model)
"""

from __future__ import annotations

import ast

from builder.configs import FunctionNode, Key
from builder.rewrite import Rewrite
from builder.scan import Module, Part
from builder.scopes import Occurrence

SEEN = frozenset({"dir", "eval", "exec", "locals", "vars"})  # what sees variables that no code names


def unused(module: Module, part: Part, rewrite: Rewrite) -> set[ast.stmt]:
    """The statements of a part that only bind a variable which nothing reads any more, and something did before."""
    if not rewrite.dead:
        return set()
    places: dict[Key, list[Occurrence]] = {}
    watched: set[ast.AST] = set()  # functions in which variables may be seen
    read: set[Key] = set()
    for occurrence in module.by_part.get(part.index, []):
        key = (occurrence.home(), occurrence.name)
        if occurrence.name in SEEN and occurrence.kind == "load":
            watched.update(scope.node for scope in [occurrence.scope, *occurrence.scope.chain()])
        if key[0].kind != "function":
            continue
        if rewrite.is_dead(occurrence.start):
            read |= {key} if occurrence.kind == "load" else set()
        else:
            places.setdefault(key, []).append(occurrence)
    found: set[ast.stmt] = set()
    for key in read:
        binding = [_binding(module, rewrite, occurrence) for occurrence in places.get(key, [])]
        if key[0].node not in watched and None not in binding:
            found.update(statement for statement in binding if statement is not None)
    return found


def _binding(module: Module, rewrite: Rewrite, occurrence: Occurrence) -> ast.stmt | None:
    """The statement that binds a name here and does nothing else; None for any other use of the name."""
    if occurrence.kind == "definition":
        node = occurrence.node
        assert isinstance(node, ast.stmt)
        plain = isinstance(node, FunctionNode) and not (
            node.decorator_list or node.args.defaults or any(node.args.kw_defaults)
        )
        return node if plain else None
    statement = module.assignment_to(occurrence.node)
    match statement:
        case (
            ast.Assign(targets=[ast.Name()], value=value) | ast.AnnAssign(target=ast.Name(), value=ast.expr() as value)
        ):
            while value in rewrite.expressions:
                value = rewrite.expressions[value]
            return statement if isinstance(value, ast.Constant) and occurrence.kind == "store" else None
    return None
