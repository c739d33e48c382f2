"""`type(value).__module__` in kept code: each class statement of a module says where it stood.

    class Element:                      class Element:
        def parse(self): ...    ->          __module__ = "grammar.core"
                                            def parse(self): ...

That is what the class said in the package. It is done only where kept code asks, and only in programs in which every
class comes from a class statement, and which do nothing that looks a class's module up by that name: there is none.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator

from builder import trees
from builder.bindings import Bindings, Variable
from builder.edits import Edit
from builder.effects import Effects
from builder.link import Linker
from builder.rewrite import Rewrite
from builder.scan import External, Module, Part
from builder.versions import STANDARD

METACLASSES = frozenset({"abc.ABCMeta", "enum.EnumMeta", "enum.EnumType", "type"})
MAKERS = frozenset(
    {
        "collections.namedtuple",
        "dataclasses.make_dataclass",
        "enum.Enum",
        "enum.Flag",
        "enum.IntEnum",
        "enum.IntFlag",
        "enum.StrEnum",
        "types.new_class",
        "typing.NamedTuple",
        "typing.TypedDict",
    }
)
# What looks a class up in the module that it names.
SEEKERS = (
    "concurrent.futures",
    "copyreg",
    "doctest",
    "enum.global_enum",
    "inspect.findsource",
    "inspect.getabsfile",
    "inspect.getcomments",
    "inspect.getfile",
    "inspect.getmodule",
    "inspect.getsource",
    "multiprocessing",
    "pdb",
    "pickle",
    "pydoc",
    "shelve",
    "typing.get_type_hints",
    "unittest",
)
HARMLESS = "unittest.TestCase"


class ClassModules:
    """Whether one program's classes can say where they stood, and the lines by which they do."""

    def __init__(self, linker: Linker, bindings: Bindings, effects: Effects, parts: list[Part]) -> None:
        self.linker = linker
        self.bindings = bindings
        self.effects = effects
        self.parts = parts
        self.wanted = False
        self._obstacle: str | None = None

    def is_class_of(self, module: Module, node: ast.expr) -> bool:
        """Whether an expression is `type(value)`, or a local variable that is bound to nothing else."""
        if self.is_type_call(module, node):
            return True
        occurrence = module.by_node.get(node)
        home = occurrence.home() if occurrence else None
        if occurrence is None or home is None or home.kind != "function":
            return False
        assigned = [module.assignment_to(bound.node) for bound in home.bound[occurrence.name]]
        return all(isinstance(one, ast.Assign) and self.is_type_call(module, one.value) for one in assigned)

    def is_type_call(self, module: Module, node: ast.AST) -> bool:
        """Whether an expression is `type(value)`."""
        match node:
            case ast.Call(func=ast.Name(id="type") as function, args=[argument], keywords=[]):
                return not isinstance(argument, ast.Starred) and self.bindings.names_builtin(module, function)
        return False

    def obstacle(self) -> str:
        """Why classes cannot say where they stood; "" where they can, and then they will."""
        if self._obstacle is None:
            self._obstacle = next(self.obstacles(), "")
        self.wanted = not self._obstacle
        return self._obstacle

    def obstacles(self) -> Iterator[str]:
        """Everything because of which a class might not say where it stood, or should not."""
        for part in self.parts:
            module, source = part.module, part.module.source
            dead = self.linker.rewrites[module.name].is_dead
            for found in part.imports:
                if isinstance(found.target, External) and not found.typing:
                    place = f"{source.name}:{source.line(source.start(found.statement))}"
                    if found.target.module.split(".")[0] not in STANDARD:
                        yield f"`{found.target.path}` ({place}) may look classes up by it"
                    elif _seeks(found.target.path) and not (found.direct and found.target.name is None):
                        yield f"`{found.target.path}` ({place}) looks classes up by it"
            for occurrence in self.linker.live(part):
                path = self.bindings.outside_path(module, occurrence)
                if _seeks(path):
                    yield f"`{path}` ({source.name}:{source.line(occurrence.start)}) looks classes up by it"
            tested: set[ast.AST] = set()
            for node in trees.nodes(part.node):
                match node:
                    case ast.Call(func=ast.Name(id="isinstance" | "issubclass"), args=[_, kinds]):
                        tested.update(kinds.elts if isinstance(kinds, ast.Tuple) else [kinds])
            for node in trees.nodes(part.node):
                if isinstance(node, (ast.ClassDef, ast.Call, ast.Name)) and node not in tested:
                    line = source.line(source.start(node))
                    if not dead(source.start(node)) and self.makes_class(module, node):
                        yield f"a class may be made at {source.name}:{line} without a statement that could say it"

    def makes_class(self, module: Module, node: ast.AST) -> bool:
        """Whether something makes classes in another way than by a plain class statement."""
        match node:
            case ast.ClassDef():
                plain = all(
                    k.arg == "metaclass" and self.named(module, k.value) == "abc.ABCMeta" for k in node.keywords
                )
                return not plain or any(self.named(module, base) in METACLASSES for base in node.bases)
            case ast.Name(id="type"):
                occurrence = module.by_node.get(node)
                if occurrence is None or occurrence.kind != "load" or occurrence.annotation:
                    return False
                call = module.call_of(node)
                return self.bindings.is_builtin(module, occurrence) and not (call and self.is_type_call(module, call))
            case ast.Call():
                several = (
                    len(node.args) > 2 or any(isinstance(a, ast.Starred) for a in node.args) or bool(node.keywords)
                )
                match node.func:
                    case ast.Call(args=[value]) if self.is_type_call(module, node.func):
                        return several and not self.is_exception(module, value)
                    case ast.Attribute(value=value, attr="__class__"):
                        return several and not self.is_exception(module, value)
                if self.named(module, node.func) in MAKERS:
                    return True
                enum = isinstance(self.effects.meaning(node.func, module), Variable)
                return enum and (len(node.args) > 1 or bool(node.keywords)) and self.effects.is_enum(node.func, module)
        return False

    def is_exception(self, module: Module, node: ast.expr) -> bool:
        """Whether a name is that of a caught exception, and so of no class."""
        occurrence = module.by_node.get(node)
        bound = occurrence.home().bound.get(occurrence.name, []) if occurrence else []
        return bool(bound) and all(isinstance(o.node, ast.ExceptHandler) for o in bound)

    def named(self, module: Module, node: ast.expr) -> str:
        """The dotted name of a builtin or of something from outside."""
        return self.effects.path(node, module)

    # Writing

    def write(self, entry: Module) -> None:
        """Let every kept class say its module, but those of the main program."""
        if not self.wanted:
            return
        for part in self.parts:
            if part.module is entry:
                continue
            rewrite = self.linker.rewrites[part.module.name]
            for node in trees.nodes(part.node):
                if isinstance(node, ast.ClassDef) and not rewrite.is_dead(part.module.source.start(node)):
                    _write(part.module, rewrite, node)


def _write(module: Module, rewrite: Rewrite, node: ast.ClassDef) -> None:
    """Put `__module__ = "..."` behind a class's docstring, or first in its body."""
    source, first = module.source, node.body[0]
    line = f'__module__ = "{module.name}"'
    statement = ast.parse(line).body[0]
    start, end = source.statement_start(first), source.end(first)
    begin = source.line_start(start)
    own_line = not source.text[begin:start].strip()
    before = rewrite.statements.get(first)
    kept = [copy.copy(first)] if before is None or before == [first] else before
    if ast.get_docstring(node, clean=False) is not None:
        behind = f"\n{source.text[begin:start]}{line}" if own_line else f"; {line}"
        rewrite.edits.append(Edit(end - 1, end, (source.text[end - 1] + behind,)))
        rewrite.statements[first] = [*kept, statement]
        return
    if own_line:
        rewrite.edits.append(Edit(begin, begin, (f"{source.text[begin:start]}{line}\n",)))
    else:
        colon = source.text.rindex(":", 0, start) + 1
        rewrite.edits.append(Edit(colon, colon, (f" {line};",)))
    rewrite.statements[first] = [statement, *kept]


def _seeks(path: str) -> bool:
    """Whether something from outside looks classes up in the modules that they name."""
    if path == HARMLESS or path.startswith(f"{HARMLESS}."):
        return False
    return path.startswith("inspect.getsource") or any(f"{path}.".startswith(f"{name}.") for name in SEEKERS)
