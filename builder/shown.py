"""Whose own name a program can see: a class shows its name in errors and representations, a function in whatever is
handed it. Such a definition keeps the name that its source gives it, also where two modules use the same one:

    class Token: ...                          class Token: ...
                                              sql_Token = Token  # another `Token` follows

A function that is only ever called shows its name nowhere but in tracebacks, and may be renamed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from builder.bindings import Bindings, Variable
from builder.effects import Effects
from builder.link import Linker
from builder.scan import Module, Part
from builder.scopes import Occurrence
from builder.versions import STANDARD

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
DEFINITIONS = (*FUNCTIONS, ast.ClassDef)
FRAMES = ("sys._getframe", "inspect.currentframe", "inspect.stack")  # they show the names of running functions
Place = tuple[Module, Occurrence, ast.AST]  # where a variable stands: the node is the whole of `ops.norm`


class Shown:
    """Answers for the kept parts of one program."""

    def __init__(self, bindings: Bindings, linker: Linker, parts: list[Part]) -> None:
        self.bindings = bindings
        self.linker = linker
        self.parts = parts
        self.effects = Effects(bindings, STANDARD, linker.rewrites)
        self._frames: bool | None = None

    def definitions(self, variable: Variable) -> list[Occurrence]:
        """The definitions that bind a variable."""
        module = self.bindings.modules[variable.module]
        bound = module.scope.bound.get(variable.name, [])
        return [o for o in bound if o.kind == "definition" and self.linker.is_live(module, o)]

    def is_whole(self, variable: Variable) -> bool:
        """Whether every definition of a variable is a top-level statement of its own."""
        module = self.bindings.modules[variable.module]
        return all(module.parts[o.part].node is o.node for o in self.definitions(variable))

    def shows(self, variable: Variable, places: Iterable[Place]) -> bool:
        """Whether something can see the name that a variable's definition has; `places`: where the variable stands."""
        found = self.definitions(variable)
        module = self.bindings.modules[variable.module]
        if not found:
            return False
        if any(isinstance(occurrence.node, ast.ClassDef) for occurrence in found) or self.frames():
            return True
        for occurrence in found:
            assert isinstance(occurrence.node, FUNCTIONS)
            if not all(self.is_quiet(decorator, module) for decorator in occurrence.node.decorator_list):
                return True
        return any(self.is_value(*place) for place in places)

    def is_quiet(self, decorator: ast.expr, module: Module) -> bool:
        """Whether a decorator does nothing with the name of what it is given."""
        return self.effects.pure_decorator(decorator, module) and self.effects.path(decorator, module) != "nki.jit"

    def is_value(self, module: Module, occurrence: Occurrence, node: ast.AST) -> bool:
        """Whether a function stands for itself here, and is not just called."""
        if occurrence.kind != "load":
            return False
        return module.call_of(node) is None

    def frames(self) -> bool:
        """Whether kept code looks at running functions."""
        if self._frames is None:
            occurrences = ((part.module, occurrence) for part in self.parts for occurrence in self.linker.live(part))
            path = self.bindings.outside_path
            self._frames = any(path(module, occurrence) in FRAMES for module, occurrence in occurrences)
        return self._frames
