"""`value.name in sys.modules`: whether a package was imported, which in one file is as it was.

That is so where `name` is an attribute to which classes give a literal, the name of a package outside of the recipe and
the standard library, and which nothing else sets; where the artifact imports what the recipe's modules import when they
are imported; and where all of those imports are behind the program when it comes to the question.
"""

from __future__ import annotations

import ast

from builder import trees
from builder.scan import External, Import, Module, Part
from builder.scopes import Occurrence
from builder.shake import Kept, Shaker
from builder.versions import STANDARD


class Loaded:
    """Answers for one program."""

    def __init__(self, shaker: Shaker, kept: Kept) -> None:
        self.shaker = shaker
        self.program = shaker.program
        self.kept = kept
        self._names: dict[str, list[str | None]] = {}

    def is_known(self, part: Part, occurrence: Occurrence) -> bool:
        """Whether a use of `sys.modules` is such a question."""
        subject = occurrence.attributes[-1] if occurrence.attributes else occurrence.node
        if not occurrence.scope.deferred:
            return False
        for node in trees.nodes(part.node):
            match node:
                case ast.Compare(left=ast.Attribute(attr=name), ops=[ast.In() | ast.NotIn()], comparators=[asked]) if (
                    asked is subject
                ):
                    return self.are_names(name) and self.imports_stay(part, name)
        return False

    def are_names(self, attribute: str) -> bool:
        """Whether an attribute is never anything but the literal name of something that is neither of the recipe nor of
        the standard library.
        """
        tops = [name.split(".")[0] if name else "" for name in self.names(attribute)]
        return bool(tops) and all(
            top.isidentifier() and top != "__main__" and top not in STANDARD and not self.program.is_ours(top)
            for top in tops
        )

    def names(self, attribute: str) -> list[str | None]:
        """The values that classes of the recipe give to an attribute; None for what is no literal string."""
        if attribute not in self._names:
            values = [value for module in self.program.modules.values() for value in self.values(module, attribute)]
            self._names[attribute] = [
                value.value if isinstance(value, ast.Constant) and isinstance(value.value, str) else None
                for value in values
            ]
        return self._names[attribute]

    def values(self, module: Module, name: str) -> list[ast.expr | None]:
        """What a module gives to an attribute of this name; None for what is not known."""
        if name not in module.source.text:
            return []
        found: list[ast.expr | None] = []
        for scope in module.scope.scopes.values():
            for bound in scope.bound.get(name, []) if scope.kind == "class" else ():
                assigned = module.assignment_to(bound.node)
                if assigned is None or assigned.value is not None:  # an annotation alone gives nothing
                    found.append(assigned.value if assigned else None)
        found += [None for node in module.every(ast.Attribute) if node.attr == name and not _is_load(node)]
        found += [None for node in module.every(ast.keyword) if node.arg == name]
        found += [None for node in module.every(ast.Constant) if node.value == name]
        found += [
            None
            for call in module.every(ast.Call)
            if isinstance(call.func, ast.Name) and call.func.id == "setattr"
            if len(call.args) < 2 or not isinstance(call.args[1], ast.Constant)
        ]
        return found

    def imports_stay(self, part: Part, attribute: str) -> bool:
        """Whether the artifact imports every package that the recipe's modules import when they run: those that it
        imports when it is imported itself above a part, and the others when the recipe does. Of the first, only the
        packages themselves may be asked for.
        """
        order = {other: i for i, other in enumerate(self.shaker.linker.order)}
        late = self.shaker.late.imports
        given = {found for imports in self.kept.outside.values() for found in imports} | set(self.kept.bare)
        above = {
            _package(found)
            for other in self.shaker.linker.order[: order.get(part, 0)]
            for found in other.imports
            if found in given - late
        }
        inner = {name.split(".")[0] for name in self.names(attribute) if name and "." in name}
        return (
            above.isdisjoint(inner)
            and all(
                _package(found) in above or (found.direct and found in late & given)
                for name in self.shaker.executed
                for found in self.program.modules[name].imports
                if not (found.scope.deferred or found.typing) and _package(found) not in STANDARD
                if isinstance(found.target, External)
            )
            and all(_package(found) in above for found in given - late if _package(found) not in STANDARD)
        )


def _package(found: Import) -> str:
    """The package outside of the recipe that an import is of."""
    return found.target.module.split(".")[0] if isinstance(found.target, External) else ""


def _is_load(node: ast.Attribute) -> bool:
    return isinstance(node.ctx, ast.Load)
