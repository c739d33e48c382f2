"""What kept code may not learn about itself: the namespace, module names and frames of a package are not those of one
file. Names of attributes, strings and calls are looked at; `forbid` looks at plain names.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from builder import trees
from builder.bindings import Bindings
from builder.class_modules import ClassModules
from builder.errors import Problem
from builder.frames import Frames
from builder.link import ATTRIBUTE_CALLS
from builder.scan import Module, Part
from builder.scopes import NAMESPACE_READERS, Occurrence

NAMESPACE = "a dictionary of the artifact's names, which are every module's and partly others"
ATTRIBUTES = {
    "__globals__": ("BLD025", f"is {NAMESPACE}", "name what you need"),
    "f_globals": ("BLD025", f"is {NAMESPACE}", "pass in what you need"),
    "f_locals": ("BLD025", "shows local names, of which some are renamed or frozen", "pass in what you need"),
    "co_varnames": ("BLD025", "lists local names, of which some are renamed or frozen", "write the names down"),
    "co_names": ("BLD025", "lists names, of which some are renamed", "write the names down"),
    "co_filename": ("BLD023", "is the artifact's path for every function", "write the name that you need"),
    "__module__": (
        "BLD023",
        "is the artifact's name for every function and class of the recipe",
        "write the name that you need, or compare it with the literal name of a package outside the recipe",
    ),
}
# Modules over which everything can be reached: they may be used only by naming what is used of them.
POWERFUL = frozenset({"builtins", "importlib", "os", "posix", "sys"})
LOGGERS = ("getLogger", "getChild")
READING = re.compile(r"[rbtU]*")
WORDS = (*ATTRIBUTES, *NAMESPACE_READERS, *ATTRIBUTE_CALLS)


class Reflection:
    """Looks at the parts of one module at a time, and only where the text has a word that matters."""

    def __init__(self, bindings: Bindings, module: Module, classes: ClassModules, lined: dict[Part, None]) -> None:
        linker = classes.linker
        self.classes = classes
        self.frames = Frames(linker, bindings, module, lined)
        self.linker = linker
        self.bindings = bindings
        self.module = module
        self.program = linker.program
        top = linker.program.settings.entry.split(".")[0] if "." in linker.program.settings.entry else ""
        self.top = top
        text = module.source.text
        self.matters = any(word in text for word in WORDS)
        self.names_modules = bool(top) and any(f"{quote}{top}{sign}" in text for quote in "\"'" for sign in ".:/")

    def problems(self, part: Part) -> list[Problem]:
        """What one kept part asks and may not."""
        if not (self.matters or self.names_modules):
            return []
        return list(self.find(part))

    def find(self, part: Part) -> Iterator[Problem]:
        """The problems of one part, in the order of its tree."""
        rewrite, source = self.linker.rewrites[self.module.name], self.module.source
        harmless = self.harmless(part.node)
        for node in trees.nodes(part.node):
            if not isinstance(node, (ast.Attribute, ast.Call, ast.Constant)) or rewrite.is_dead(source.start(node)):
                continue
            match node:
                case ast.Attribute(attr="__module__", ctx=ast.Load(), value=owner) if (
                    node not in harmless and self.classes.is_class_of(self.module, owner)
                ):
                    obstacle = self.classes.obstacle()
                    if obstacle:
                        message = f"`{ast.unparse(node)}` is the artifact's name for every class, and {obstacle}"
                        yield self.module.problem(source.start(node), "BLD023", message, ATTRIBUTES["__module__"][2])
                case ast.Attribute(attr=name, ctx=ast.Load()) if name in ATTRIBUTES and node not in harmless:
                    code, message, remedy = ATTRIBUTES[name]
                    yield self.module.problem(source.start(node), code, f"`{ast.unparse(node)}` {message}", remedy)
                case ast.Call(func=ast.Name(id=name) as function, args=[], keywords=[]) if name in NAMESPACE_READERS:
                    yield from self.namespace(self.module.by_node.get(function))
                case ast.Call(func=ast.Name(id="getattr"), args=[_, ast.Constant(value=name), *_]) if (
                    name in ATTRIBUTES
                ):
                    code, message, remedy = ATTRIBUTES[name]
                    yield self.module.problem(source.start(node), code, f"`{name}` {message}", remedy)
                case ast.Constant(value=str(text)) if self.names_modules and node not in harmless:
                    yield from self.string(node, text)

    def harmless(self, part: ast.AST) -> set[ast.AST]:
        """Strings that are names of loggers or files to write; `__module__` compared with a name from elsewhere."""
        found: set[ast.AST] = set()
        for node in trees.nodes(part):
            read = self.frames.harmless(node)
            if read is not None:
                found.add(read)
            match node:
                case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name), args=[ast.Constant() as text, *_]) if (
                    name in LOGGERS
                ):
                    found.add(text)
                case ast.Call(
                    func=ast.Name(id="open"), args=[ast.Constant() as text, ast.Constant(value=str(mode)), *_]
                ):
                    if not READING.fullmatch(mode):
                        found.add(text)
                case ast.Compare(left=ast.Attribute() as left, comparators=others) if all(map(self.elsewhere, others)):
                    found.add(left)
                case ast.Call(func=ast.Attribute(value=ast.Attribute() as left, attr="startswith"), args=[other]) if (
                    self.elsewhere(other)
                ):
                    found.add(left)
        return found

    def elsewhere(self, node: ast.expr) -> bool:
        """Whether an expression is text, or texts, that names no module of the recipe or the artifact."""
        if isinstance(node, (ast.Tuple, ast.Set, ast.List)):
            return all(map(self.elsewhere, node.elts))
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or not node.value:
            return False
        names = ["__main__", *self.program.modules]
        return not any(name.startswith(node.value) or node.value.startswith(f"{name}.") for name in names)

    def namespace(self, occurrence: Occurrence | None) -> Iterator[Problem]:
        """`locals()`, `vars()` and `dir()`: what a module's would say, and what a function's say where names went."""
        if occurrence is None or not self.bindings.is_builtin(self.module, occurrence):
            return
        scope = occurrence.scope.namespace()
        if scope is self.module.scope:
            message = f"`{occurrence.name}()` reads the module's names, which in one file are every module's"
            yield self.module.problem(occurrence.start, "BLD025", message, "name what you need")
            return
        rewrite = self.linker.rewrites[self.module.name]
        gone = [
            name
            for name, bound in scope.bound.items()
            if any(rewrite.is_dead(o.start) or o.node in rewrite.removed for o in bound)
        ]
        if gone:
            message = f"`{occurrence.name}()` reads the local names, and freezing took {', '.join(gone)} away"
            yield self.module.problem(occurrence.start, "BLD025", message, "name what you need")

    def string(self, node: ast.Constant, text: str) -> Iterator[Problem]:
        """A string that names a module of the recipe or something in it, or a file of the package."""
        start = self.module.source.start(node)
        if text.startswith((f"{self.top}.", f"{self.top}:")):
            if self.named_module(text):
                message = f"{text!r} names a module of the recipe, which the artifact does not have"
                yield self.module.problem(start, "BLD012", message, "pass the object itself, not its name")
        elif self.is_package_file(text):
            message = f"{text!r} is a file of the package, which the artifact does not have"
            yield self.module.problem(start, "BLD023", message, "put the data into the code")

    def is_package_file(self, text: str) -> bool:
        """Whether a text is the path of a file in the recipe's package."""
        could_be = text.startswith(f"{self.top}/") and text.isprintable() and len(text) < 200
        return could_be and (self.program.settings.root / text).is_file()

    def named_module(self, text: str) -> bool:
        """Whether a text is `package.module`, with or without a member behind a point or a colon."""
        dotted, colon, _ = text.partition(":")
        if dotted in self.program.modules:
            return bool(colon) or "." in dotted
        home, _, member = dotted.rpartition(".")
        return home in self.program.modules and member in self.program.modules[home].scope.bound


def powerful(path: str, occurrence: Occurrence, by_getattr: dict[ast.AST, tuple[str, ast.Call]]) -> tuple[str, str]:
    """For an occurrence of a module over which everything can be reached: the path meant, and what is wrong, or "".

    `getattr(sys, "modules")` is `sys.modules`; with a name known at run time, or the module passed on, nobody can tell.
    """
    subject = occurrence.attributes[-1] if occurrence.attributes else occurrence.node
    if subject in by_getattr:
        name, _ = by_getattr[subject]
        if name:
            return f"{path}.{name}", ""
        if path in POWERFUL:
            return path, "is asked for a name that is known only at run time"
    elif path in POWERFUL and occurrence.kind == "load":
        return path, "is used as a value, so that nobody can tell what is asked of it"
    return path, ""
