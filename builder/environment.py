"""The environment and the command line as the program finds them: what settings give, what the launcher owns, and what
the program itself sets.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from builder import trees
from builder.bindings import Bindings
from builder.scan import Module, Program
from builder.scopes import Occurrence
from builder.trees import root_of

Place = tuple[str, int]
CHANGING = ("setdefault", "update", "pop", "popitem", "clear", "__setitem__", "__delitem__")


class Environ:
    """Stands for `os.environ` among values."""


ENVIRON = Environ()


@dataclass(frozen=True)
class Write:
    """What sets a variable: `os.environ["X"] = value`, or `os.environ.setdefault("X", value)` anywhere in code."""

    module: Module
    occurrence: Occurrence
    name: str
    value: ast.expr
    keeps: bool  # setdefault: leaves a value that is there
    node: ast.AST  # the assignment, or the call


@dataclass
class Environment:
    """The variables that are given (all others are not set), and who reads which.

    `reads` lists every variable that evaluation read, with its places.
    """

    given: dict[str, str]
    arguments: list[str]
    owned: frozenset[str] = frozenset()
    reads: dict[str, list[Place]] = field(default_factory=dict)
    writes: dict[str, list[Write]] = field(default_factory=dict)

    def read(self, name: str, place: Place) -> str | None:
        """The value of a variable that is a knob; None when it is not set."""
        places = self.reads.setdefault(name, [])
        if place not in places:
            places.append(place)
        return self.given.get(name)


def find_writes(program: Program, bindings: Bindings) -> dict[str, list[Write]]:
    """All statements that set one variable by its literal name, by variable."""
    writes: dict[str, list[Write]] = {}
    for module in program.modules.values():
        if "environ" not in module.source.text:
            continue
        for part in module.parts:
            for node in trees.nodes(part.node):
                found = _write(bindings, module, node)
                if found is not None:
                    writes.setdefault(found.name, []).append(found)
    return writes


def _write(bindings: Bindings, module: Module, node: ast.AST) -> Write | None:
    match node:
        case ast.Assign(targets=[ast.Subscript(value=target, slice=ast.Constant(value=str(name)))], value=value):
            keeps = False
        case ast.Call(func=ast.Attribute(value=target, attr="setdefault"), args=[ast.Constant(value=str(name)), value]):
            keeps = True
        case _:
            return None
    occurrence = module.by_node.get(root_of(target))
    if occurrence is None:
        return None
    path = bindings.outside_path(module, occurrence).removesuffix(".setdefault")
    return Write(module, occurrence, name, value, keeps, node) if path == "os.environ" else None
