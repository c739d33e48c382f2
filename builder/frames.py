"""What kept code may ask of frames: a local by its name, and whether two places in the code are the same.

    frame.f_locals.get("self")                          no variable of a module has this name
    (frame.f_code.co_filename, line) == place           the pair is as unique in one file as in the package

A place may be computed from where the program is, `here = traceback.extract_stack()[-1]; (here[0], here[1] + 9)`: then
the lines of the statement in which that stands must keep their distances, comments included.
"""

from __future__ import annotations

import ast

from builder.bindings import Bindings, Variable
from builder.emit import Output
from builder.errors import BuildError, Problem
from builder.link import Linker
from builder.scan import Module, Part

STACKS = ("traceback.extract_stack", "traceback.extract_tb")


class Frames:
    """Answers for the code of one module. `lined` gathers the parts whose lines must keep their distances."""

    def __init__(self, linker: Linker, bindings: Bindings, module: Module, lined: dict[Part, None]) -> None:
        self.linker = linker
        self.bindings = bindings
        self.module = module
        self.lined = lined

    def harmless(self, node: ast.AST) -> ast.Attribute | None:
        """The read of a frame in an expression that gives in one file what it gave in the package."""
        match node:
            case (
                ast.Call(func=ast.Attribute(value=ast.Attribute(attr="f_locals") as read, attr="get"), args=[name, *_])
                | ast.Subscript(value=ast.Attribute(attr="f_locals") as read, slice=name, ctx=ast.Load())
                | ast.Compare(
                    left=name, ops=[ast.In() | ast.NotIn()], comparators=[ast.Attribute(attr="f_locals") as read]
                )
            ):
                if isinstance(name, ast.Constant) and isinstance(name.value, str):
                    return read if self.is_plain_local(name.value) else None
            case ast.Compare(
                left=ast.Tuple(elts=[ast.Attribute(attr="co_filename") as read, _]),
                ops=[ast.Eq() | ast.NotEq()],
                comparators=[ast.Name() as place],
            ) if self.is_place(place):
                return read
        return None

    def is_plain_local(self, name: str) -> bool:
        """Whether nothing in the recipe has this name but parameters and local variables that stay, read by what stays:
        they keep it, since no variable of a module has it.
        """
        for module in self.linker.program.modules.values():
            if name not in module.source.text:
                continue
            if name in module.scope.bound:
                return False
            rewrite = self.linker.rewrites[module.name]
            for occurrence in module.scope.occurrences:
                if occurrence.name != name or occurrence.home() is module.scope:
                    continue
                if occurrence.kind not in ("parameter", "store", "load"):
                    return False
                # What reads a name of a function around has it among its own.
                if rewrite.is_dead(occurrence.start) or occurrence.node in rewrite.removed:
                    return False
        return True

    def is_place(self, node: ast.Name) -> bool:
        """Whether a variable of the module is never anything but None, or the path and the line of a frame."""
        values = self.values(node)
        for value, _ in values or []:
            match value:
                case ast.Tuple(elts=[path, ast.BinOp(left=line, op=ast.Add(), right=distance)]):
                    near = self.distance(distance)
                case ast.Tuple(elts=[path, line]):
                    near = None
                case _:
                    return False
            if self.entry(path, "filename", 0) is None:
                return False
            entry = self.entry(line, "lineno", 1)
            if entry is None or (isinstance(value.elts[1], ast.BinOp) and not self.is_near(entry, near)):
                return False
        return bool(values)

    def distance(self, node: ast.expr) -> int | None:
        """A number of lines: written here, or the only value of a variable."""
        if isinstance(node, ast.Name):
            occurrence = self.module.by_node.get(node)
            bound = occurrence.home().bound.get(node.id, []) if occurrence else []
            assigned = self.module.assignment_to(bound[0].node) if len(bound) == 1 else None
            node = assigned.value if isinstance(assigned, ast.Assign) else node
        return node.value if isinstance(node, ast.Constant) and type(node.value) is int else None

    def is_near(self, entry: ast.Name, distance: int | None) -> bool:
        """Whether an entry is always `traceback.extract_stack()[-1]`, and the line at that distance below in the same
        statement of the module; its lines must then keep their distances.
        """
        for value, part in self.values(entry) or []:
            match value:
                case ast.Subscript(value=ast.Call(func=function), slice=index) if ast.unparse(index) == "-1":
                    inside = distance is not None and distance <= self.module.source.line(part.end) - value.lineno
                    if not inside or not self.is_stack(function, STACKS[:1]):
                        return False
                case _:
                    return False
            self.lined[part] = None
        return True

    def entry(self, node: ast.expr, attribute: str, index: int) -> ast.Name | None:
        """The variable with an entry of `traceback.extract_stack()` and the like, of which an expression is the path
        or the line.
        """
        match node:
            case ast.Attribute(value=ast.Name() as entry, attr=name) if name == attribute:
                pass
            case ast.Subscript(value=ast.Name() as entry, slice=ast.Constant(value=number)) if number == index:
                pass
            case _:
                return None
        values = self.values(entry) or []
        known = [
            isinstance(value, ast.Subscript)
            and isinstance(value.value, ast.Call)
            and self.is_stack(value.value.func, STACKS)
            for value, _ in values
        ]
        return entry if known and all(known) else None

    def is_stack(self, function: ast.expr, among: tuple[str, ...]) -> bool:
        """Whether a function gives the entries of a stack or traceback."""
        return self.bindings.outside_path_of(self.module, function) in among

    def values(self, node: ast.Name) -> list[tuple[ast.expr, Part]] | None:
        """What a variable of the module is bound to, with the parts in which that stands, what is empty and itself left
        aside;
        None where one of them is not known.
        """
        module, occurrence = self.module, self.module.by_node.get(node)
        reference = self.bindings.of(module, occurrence) if occurrence else None
        if occurrence is None or reference is None or reference.meaning != Variable(module.name, node.id):
            return None
        found: list[tuple[ast.expr, Part]] = []
        for bound in module.scope.bound[node.id]:
            assigned = module.assignment_to(bound.node)
            value = assigned.value if assigned else None
            if value is None or (isinstance(assigned, ast.Assign) and len(assigned.targets) > 1):
                return None
            several = isinstance(value, ast.BoolOp) and isinstance(value.op, ast.Or)
            for one in value.values if isinstance(value, ast.BoolOp) and several else [value]:
                itself = isinstance(one, ast.Name) and one.id == node.id
                if not itself and ast.unparse(one) not in ("None", "()"):
                    found.append((one, module.parts[bound.part]))
        return found


def hold_lines(output: Output, lined: dict[Part, None]) -> None:
    """Let comments stay in parts whose lines must keep their distances. Raises BuildError where other edits moved
    them.
    """
    for part in lined:
        begin, end = output.ranges.get(part, (0, 0))
        output.header.update(range(begin, end))
        distances = {place[1] - line for line, place in enumerate(output.places[begin:end]) if place is not None}
        if len(distances) > 1:
            message = "a line is computed here from that of another, and what settings decide moved the two apart"
            remedy = "take the line that is meant, or move what settings decide out of this function"
            raise BuildError([Problem(part.module.source.name, part.line, "BLD023", message, remedy)])
