"""A module's names read as a dictionary at import time, where what they say is known: written out before anything else.

    if "norm" not in globals():          ->   if False:
    [v for v in vars().values()          ->   [v for v in (first, second)
     if isinstance(v, Element)]                if isinstance(v, Element)]

Listed are the names bound before that line, in the order in which they were bound first, without those that are
certainly no instance of that class of the recipe. Where one of them may be unbound, or its place in the order is not
known, nothing is written, and the read is refused (forbid, reflection).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TypeGuard

from builder import trees
from builder.bindings import Bindings, Outside, Variable
from builder.link import Linker, is_main_block
from builder.rewrite import Rewrite
from builder.scan import InPackage, Member, Module, Part, Program, locate
from builder.scopes import STRAIGHT, Occurrence

READERS = ("globals", "locals", "vars")
BINDING = ("store", "definition", "import", "delete")
LITERALS = (
    ast.Constant,
    ast.JoinedStr,
    ast.List,
    ast.Tuple,
    ast.Dict,
    ast.Set,
    ast.ListComp,
    ast.DictComp,
    ast.SetComp,
)


class UnsureError(Exception):
    """What a module's names are at a place is not known."""


def written_out(program: Program) -> dict[str, str]:
    """The texts of the modules in which such reads were written out, by module; lines stay where they are."""
    found = {name: module for name, module in program.modules.items() if _may_read(module)}
    if not found:
        return {}
    namespaces = _Namespaces(program)
    texts = {name: namespaces.text(module) for name, module in found.items()}
    return {name: text for name, text in texts.items() if text != found[name].source.text}


def _may_read(module: Module) -> bool:
    return any(f"{reader}()" in module.source.text for reader in READERS)


class _Namespaces:
    def __init__(self, program: Program) -> None:
        self.program = program
        self.bindings = Bindings(program)
        order = Linker(program, self.bindings, {name: Rewrite() for name in program.modules}).order
        self.order = {part: i for i, part in enumerate(order)}

    def text(self, module: Module) -> str:
        """A module's text with the reads written out."""
        text = module.source.text
        for start, end, written in sorted(self.edits(module), reverse=True):
            text = text[:start] + written + text[end:]
        return text

    def edits(self, module: Module) -> Iterator[tuple[int, int, str]]:
        source = module.source
        for part in module.parts:
            if part not in self.order:
                continue  # runs when a function imports it
            for node, written in self.part(module, part):
                start, end = source.start(node), source.end(node)
                yield start, end, written + "\n" * source.text[start:end].count("\n")

    def part(self, module: Module, part: Part) -> Iterator[tuple[ast.expr, str]]:
        """The expressions of a part that are written out, each with what takes its place."""
        for test in _tests(part.node):
            match test:
                case ast.Compare(
                    left=ast.Constant(value=str(name)), ops=[ast.In() | ast.NotIn() as op], comparators=[call]
                ) if self.is_read(module, call):
                    bound = self.is_bound(module, name, part)
                    if bound is not None:
                        yield test, str(bound is isinstance(op, ast.In))
        match part.node:
            case (
                ast.Assign(value=ast.ListComp(generators=[ast.comprehension() as only]))
                | ast.AnnAssign(value=ast.ListComp(generators=[ast.comprehension() as only]))
            ):
                match only:
                    case ast.comprehension(
                        target=ast.Name(id=name),
                        iter=ast.Call(func=ast.Attribute(value=call, attr="values"), args=[], keywords=[]) as values,
                        ifs=[
                            ast.Call(
                                func=ast.Name(id="isinstance") as function,
                                args=[ast.Name(id=tested), ast.Name() as kind],
                                keywords=[],
                            )
                        ],
                        is_async=0,
                    ) if (
                        tested == name and self.is_read(module, call) and self.bindings.names_builtin(module, function)
                    ):
                        if self.is_plain_class(module, kind):
                            try:
                                names = list(self.listed(module, part.index))
                            except UnsureError:
                                return
                            yield values, f"({', '.join(names)}{',' if len(names) == 1 else ''})"

    def is_read(self, module: Module, node: ast.expr) -> bool:
        """Whether an expression is `globals()`, or `vars()` of the module."""
        match node:
            case ast.Call(func=ast.Name(id=name) as function, args=[], keywords=[]) if name in READERS:
                return self.bindings.names_builtin(module, function)
        return False

    def is_bound(self, module: Module, name: str, part: Part) -> bool | None:
        """Whether a module has a name when a part begins; None where that is not known."""
        if name.startswith("__") or self.is_submodule(module, name):
            return None
        try:
            if self.is_sure(module, name, part.index):
                return True
        except UnsureError:
            return None
        bound = module.scope.bound.get(name, [])
        given = self.bindings.givers(module).get(name, [])
        before = [o for o in bound if o.part < part.index or o.scope.deferred]
        stars = self.bindings.stars(module)
        known = all(isinstance(star.target, Member) and self.is_whole(star.target.module, part) for star in stars)
        may = before or any(star.part < part.index for star in given)
        return None if may or not known or self.bindings.computed else False

    def is_submodule(self, module: Module, name: str) -> bool:
        """Whether importing a module of the recipe binds a name in the package that contains it."""
        return module.is_package and locate(self.program.settings.root, f"{module.name}.{name}") is not None

    def is_whole(self, name: str, part: Part) -> bool:
        """Whether all of a module has run when a part does."""
        here = self.order[part]
        parts = (other for other in self.program.modules[name].parts if not is_main_block(other.node))
        return all(self.order.get(other, here) < here for other in parts)

    def is_sure(self, module: Module, name: str, index: int) -> bool:
        """Whether a part before one of this index binds a name whatever happens. Raises UnsureError where it may be
        deleted again.
        """
        bound = module.scope.bound.get(name, [])
        if any(o.kind == "delete" or isinstance(o.node, ast.ExceptHandler) for o in bound):
            raise UnsureError
        for occurrence in bound:
            node = module.parts[occurrence.part].node
            bare = isinstance(node, ast.AnnAssign) and node.value is None
            straight = isinstance(node, STRAIGHT) and not bare and occurrence.scope is module.scope
            if occurrence.part < index and straight:
                return True
        return any(
            isinstance(star.target, Member)
            and star.direct
            and star.part < index
            and self.is_whole(star.target.module, module.parts[star.part])
            and self.is_sure(self.program.modules[star.target.module], name, len(self.parts_of(star.target.module)))
            for star in self.bindings.givers(module).get(name, [])
        )

    def parts_of(self, name: str) -> list[Part]:
        return self.program.modules[name].parts

    # What may be an instance

    def listed(self, module: Module, index: int) -> Iterator[str]:
        """The names bound before a part that may be instances of a recipe's class, in order. Raises UnsureError."""
        if self.bindings.computed:
            raise UnsureError
        seen: set[str] = set()
        for part in module.parts[:index]:
            walrus = (node.target for node in trees.nodes(part.node) if isinstance(node, ast.NamedExpr))
            places = (module.by_node[target] for target in walrus)
            if any(place.home() is module.scope and not place.scope.deferred for place in places):
                raise UnsureError  # bound before what stands to its left
            for name in self.bound_by(module, part):
                if name not in seen and not self.is_other(module, name):
                    seen.add(name)
                    if self.is_submodule(module, name) or not self.is_sure(module, name, part.index + 1):
                        raise UnsureError
                    yield name
        for name, bound in module.scope.bound.items():  # by functions that may have been called
            if name not in seen and any(o.scope.deferred for o in bound) and not self.is_other(module, name):
                raise UnsureError

    def bound_by(self, module: Module, part: Part) -> Iterator[str]:
        """The names that a part binds, in order."""
        for found in part.imports:
            if found.alias.name == "*":
                if not (isinstance(found.target, Member) and found.direct and self.is_whole(found.target.module, part)):
                    raise UnsureError
                target = self.program.modules[found.target.module]
                declared = self.bindings.declared(target)
                names = self.listed(target, len(target.parts)) if declared is None else declared
                yield from (name for name in names if declared is not None or not name.startswith("_"))
        if isinstance(part.node, ast.AnnAssign) and part.node.value is None:
            return  # `name: Type` binds nothing
        for occurrence in sorted(module.by_part.get(part.index, []), key=lambda o: o.start):
            if occurrence.kind in BINDING and not occurrence.scope.deferred and occurrence.home() is module.scope:
                yield occurrence.name

    def is_other(self, module: Module, name: str) -> bool:
        """Whether a variable is certainly no instance of a class of the recipe: a module, a function, a class, a value
        written down, or something from outside.
        """
        bound = module.scope.bound.get(name, [])
        givers = self.bindings.givers(module).get(name, [])
        return (
            bool(bound or givers)
            and all(self.binds_other(module, occurrence) for occurrence in bound)
            and all(self.is_other(self.program.modules[s.target.module], name) for s in givers if _is_member(s.target))
        )

    def binds_other(self, module: Module, occurrence: Occurrence) -> bool:
        """Whether one place binds a variable to such a thing, or only deletes it."""
        if occurrence.kind == "delete":
            return True
        if occurrence.kind == "import":
            found = self.bindings.import_of(occurrence)
            meaning = self.bindings.target(found.target, found.bound) if found else None
            if isinstance(meaning, Variable) and meaning != Variable(module.name, occurrence.name):
                return self.is_other(self.program.modules[meaning.module], meaning.name)
            return isinstance(meaning, (Outside, InPackage))
        if occurrence.kind == "definition":
            definition = occurrence.node
            assert isinstance(definition, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
            return not (definition.decorator_list or getattr(definition, "keywords", []))
        match module.parts[occurrence.part].node:
            case (
                ast.Assign(targets=[ast.Name() as target], value=value)
                | ast.AnnAssign(target=ast.Name() as target, value=value)
            ):
                return target is occurrence.node and (value is None or isinstance(value, LITERALS))
        return False

    def is_plain_class(self, module: Module, node: ast.expr) -> bool:
        """Whether a name is a class of the recipe of which nothing is an instance but what it or a subclass made.

        It has no metaclass but ABC's, is none, and nothing is registered with such classes.
        """
        occurrence = module.by_node.get(node)
        reference = self.bindings.of(module, occurrence) if occurrence else None
        meaning = reference.meaning if reference else None
        definition = self.bindings.definition(meaning) if isinstance(meaning, Variable) else None
        if not isinstance(definition, ast.ClassDef) or definition.keywords or definition.decorator_list:
            return False
        assert isinstance(meaning, Variable)
        home = self.program.modules[meaning.module]
        hooks = {"__subclasshook__", "__instancecheck__", "__subclasscheck__"}
        if hooks & {child.name for child in definition.body if isinstance(child, ast.FunctionDef)}:
            return False
        registering = (
            attribute
            for other in self.program.modules.values()
            if "register" in other.source.text
            for attribute in other.every(ast.Attribute)
            if attribute.attr == "register" and not self.bindings.outside_path_of(other, attribute.value)
        )
        return all(self.is_abc(home, base) for base in definition.bases) and not any(registering)

    def is_abc(self, module: Module, base: ast.expr) -> bool:
        """Whether a base class is `abc.ABC`, or another such class of the recipe."""
        path = self.bindings.outside_path_of(module, base)
        return path == "abc.ABC" or (not path and isinstance(base, ast.Name) and self.is_plain_class(module, base))


def _is_member(target: object) -> TypeGuard[Member]:
    return isinstance(target, Member)


def _tests(node: ast.stmt) -> Iterator[ast.expr]:
    """The tests of a top-level `if` and its `elif`s."""
    while isinstance(node, ast.If):
        yield node.test
        if len(node.orelse) != 1:
            return
        node = node.orelse[0]
