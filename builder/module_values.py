"""A module of the recipe used as a value: it becomes one, made when the module has run, and each use names it.

    def layers(self):                      def layers(self):
        from .layers import torch     ->       from .layers import torch
        return torch                           return torch._torch_module

    # at the end of layers/torch.py:  import types as _types
                                      _torch_module = _types.ModuleType(__name__, "...")
                                      _torch_module.__dict__.update(Norm=Norm, ...)

This is done before anything else, in the text. It holds for a module whose names all are bound by then and never again,
by nobody, in a program that does not list the names of objects. Others are refused (link).
"""

from __future__ import annotations

import ast
import textwrap

from builder.bindings import Bindings
from builder.link import Linker, is_main_block, paths_by_getattr
from builder.rewrite import Rewrite
from builder.scan import InPackage, Module, Part, Program
from builder.scopes import STRAIGHT, Occurrence

# Of a module object, what is not as it was.
OTHERWISE = frozenset({"__cached__", "__dict__", "__file__", "__loader__", "__package__", "__path__", "__spec__"})
LISTING = ("dir", "vars")
CHANGING = ("setattr", "delattr")


def module_values(program: Program) -> dict[str, str]:
    """The texts of the modules that use others as values or are used so, by module."""
    bindings = Bindings(program)
    uses: dict[str, list[tuple[Module, Occurrence]]] = {}
    for module in program.modules.values():
        for occurrence in module.scope.occurrences:
            used = _used(bindings, module, occurrence)
            if used is not None:
                uses.setdefault(used, []).append((module, occurrence))
    if not uses or any(_lists_names(module) for module in program.modules.values()):
        return {}
    order = Linker(program, bindings, {name: Rewrite() for name in program.modules}).order
    places = {part: i for i, part in enumerate(order)}
    edits: dict[str, list[tuple[int, str]]] = {}
    for name, found in sorted(uses.items()):
        module = program.modules[name]
        names = _names(program, bindings, module)
        if names is None or any(
            not o.scope.deferred and not _has_run(module, m.parts[o.part], places) for m, o in found
        ):
            continue
        value = _free(module, f"_{module.stem}_module")
        for user, occurrence in found:
            subject = occurrence.attributes[-1] if occurrence.attributes else occurrence.node
            assert isinstance(subject, (ast.Name, ast.Attribute))
            edits.setdefault(user.name, []).append((user.source.end(subject), f".{value}"))
        edits.setdefault(name, []).append((len(module.source.text), _made(module, value, names)))
    texts = {}
    for name, changes in edits.items():
        text = program.modules[name].source.text
        for at, added in sorted(changes, reverse=True):
            text = text[:at] + added + text[at:]
        texts[name] = text
    return texts


def _used(bindings: Bindings, module: Module, occurrence: Occurrence) -> str | None:
    """The module of the recipe that a plain expression is, but where it is asked for a name (link tells)."""
    if occurrence.kind != "load" or occurrence.annotation or occurrence.debug or occurrence.quote:
        return None
    reference = bindings.of(module, occurrence)
    if reference is None or not isinstance(reference.meaning, InPackage):
        return None
    subject = occurrence.attributes[-1] if occurrence.attributes else occurrence.node
    if reference.attributes != len(occurrence.attributes) or not isinstance(getattr(subject, "ctx", None), ast.Load):
        return None
    if subject in paths_by_getattr(module.parts[occurrence.part].node):
        return None
    return reference.meaning.module


def _lists_names(module: Module) -> bool:
    """Whether code asks objects for what a module made here does not have, or changes them by names in strings."""
    for node in module.every(ast.Attribute):
        if node.attr in OTHERWISE or node.attr == "getmembers":
            return True
    for call in module.every(ast.Call):
        match call:
            case ast.Call(func=ast.Name(id=name), args=[_]) if name in LISTING:
                return True
            case ast.Call(func=ast.Name(id=name)) if name in CHANGING:
                return True
            case ast.Call(func=ast.Name(id="getattr" | "hasattr"), args=[_, ast.Constant(value=name), *_]):
                if name in OTHERWISE:
                    return True
    return False


def _names(program: Program, bindings: Bindings, module: Module) -> list[str] | None:
    """The names of a module, in order, when it has run; None where they are not known, or may become others."""
    scope = module.scope
    if module.is_package or module is program.entry or bindings.stars(module) or not module.source.text:
        return None
    names: dict[str, None] = {}
    for occurrence in sorted((o for bound in scope.bound.values() for o in bound), key=lambda o: o.start):
        node = module.parts[occurrence.part].node
        straight = isinstance(node, STRAIGHT) and not (isinstance(node, ast.AnnAssign) and node.value is None)
        if occurrence.scope is not scope or not straight or occurrence.kind == "delete":
            return None
        names[occurrence.name] = None
    if "__getattr__" in names or any(is_main_block(part.node) for part in module.parts):
        return None
    for other in program.modules.values():
        stored = (a for a in other.every(ast.Attribute) if a.attr in names and not isinstance(a.ctx, ast.Load))
        if not all(_is_of_self(other, attribute) for attribute in stored):
            return None
    return list(names)


def _is_of_self(module: Module, node: ast.Attribute) -> bool:
    """Whether an attribute is one of a method's object."""
    occurrence = module.by_node.get(node.value)
    home = occurrence.home() if occurrence else None
    if occurrence is None or home is None or home.parent is None or home.parent.kind != "class":
        return False
    function = home.node
    if not isinstance(function, ast.FunctionDef) or function.decorator_list:
        return False
    arguments = [*function.args.posonlyargs, *function.args.args]
    only = len(home.bound.get(occurrence.name, [])) == 1
    return bool(arguments) and only and arguments[0].arg == occurrence.name


def _has_run(module: Module, part: Part, places: dict[Part, int]) -> bool:
    """Whether all of a module has run when a part does."""
    here = places.get(part, -1)
    return all(places.get(other, here) < here for other in module.parts)


def _free(module: Module, name: str) -> str:
    """A name that the text of a module does not have."""
    while name in module.source.text:
        name += "_"
    return name


def _made(module: Module, value: str, names: list[str]) -> str:
    """The statements that make the value of a module."""
    types = _free(module, "_types")
    doc = ast.get_docstring(module.tree, clean=False)
    documented = f", {doc!r}" if doc is not None else ""
    pairs = textwrap.wrap(", ".join(f"{name}={name}" for name in names), 110)
    update = "".join(f"\n    {line}" for line in pairs)
    text = f"import types as {types}\n\n{value} = {types}.ModuleType(__name__{documented})\n"
    text += f"{value}.__dict__.update({update}\n)\n" if names else ""
    return ("" if module.source.text.endswith("\n") else "\n") + "\n" + text
