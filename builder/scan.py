"""Phase 1, scan: parse every in-package module that the entry can reach, split it into parts, resolve its imports.

    train.py:  from .model import GPT      ->  Import(bound "GPT", target Member("recipe.model", "GPT"))
               import torch                ->  Import(bound "torch", target External("torch", None))

A part is one top-level statement. Which parts an artifact keeps is decided later; here everything is read.
"""

from __future__ import annotations

import ast
import builtins
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from builder import scopes, trees
from builder.errors import BuildError, Problem
from builder.scopes import Occurrence, Scope
from builder.settings import Settings
from builder.source import Source, inner_statements
from builder.versions import STANDARD

Node = TypeVar("Node", bound=ast.AST)


@dataclass(frozen=True)
class External:
    """A module outside the package (`name` None), or a name imported from one."""

    module: str
    name: str | None

    @property
    def path(self) -> str:
        """Its dotted name."""
        return f"{self.module}.{self.name}" if self.name else self.module


@dataclass(frozen=True)
class InPackage:
    """A module of the package."""

    module: str


@dataclass(frozen=True)
class Member:
    """A name in a module of the package: one of its variables, or a submodule."""

    module: str
    name: str


Target = External | InPackage | Member


@dataclass(frozen=True, eq=False)
class Import:
    """One name bound by an import statement (`*` for a star import)."""

    bound: str
    target: Target
    statement: ast.Import | ast.ImportFrom
    alias: ast.alias
    scope: Scope
    part: int
    direct: bool  # the statement stands directly in the module, not in a block or function
    runs: tuple[str, ...]  # modules of the package that Python runs for it, in order
    typing: bool  # stands under `if TYPE_CHECKING:`, so that it never runs
    guard: ast.stmt | None  # the `try` or `with suppress(...)` around that passes a failing import over
    caught: bool  # whether anything around catches a failing import, be it to say so
    spare: ast.stmt | None  # the `try` whose handler for a failing import this stands in


@dataclass(eq=False)
class Part:
    """One top-level statement of a module, with the comments that stand above it and behind it."""

    module: Module
    index: int
    node: ast.stmt
    start: int  # of the statement
    end: int
    head: int  # of the comments and blank lines above
    tail: int  # behind a comment on the statement's last line, and those below that are indented deeper
    imports: list[Import] = field(default_factory=list)  # of the module's, those in this part

    @property
    def line(self) -> int:
        """The line of the statement."""
        return self.module.source.line(self.start)


@dataclass(eq=False)
class Module:
    """One source file of the recipe."""

    name: str
    source: Source
    tree: ast.Module
    scope: Scope
    is_package: bool
    future: frozenset[str]
    parts: list[Part] = field(default_factory=list)
    imports: list[Import] = field(default_factory=list)
    by_part: dict[int, list[Occurrence]] = field(default_factory=dict)
    by_node: dict[ast.AST, Occurrence] = field(default_factory=dict)
    _by_kind: dict[type, list[Any]] = field(default_factory=dict)
    _calls: dict[ast.AST, ast.Call] = field(default_factory=dict)
    _assignments: dict[ast.AST, ast.Assign | ast.AnnAssign] = field(default_factory=dict)

    def every(self, kind: type[Node]) -> list[Node]:
        """All nodes of one kind in the module's tree."""
        if not self._by_kind:
            for node in trees.nodes(self.tree):
                self._by_kind.setdefault(type(node), []).append(node)
        return self._by_kind.get(kind, [])

    def call_of(self, function: ast.AST) -> ast.Call | None:
        """The call whose function an expression is; None for any other use."""
        if not self._calls:
            self._calls = {call.func: call for call in self.every(ast.Call)}
        return self._calls.get(function)

    def assignment_to(self, target: ast.AST) -> ast.Assign | ast.AnnAssign | None:
        """The assignment that has an expression as a target; None for any other use, in a tuple of targets too."""
        if not self._assignments:
            self._assignments = {target: one for one in self.every(ast.Assign) for target in one.targets}
            self._assignments.update({one.target: one for one in self.every(ast.AnnAssign)})
        return self._assignments.get(target)

    def places(self, scope: Scope, name: str) -> list[Occurrence]:
        """Every place that means the variable of this name in a scope."""
        return [o for o in self.scope.occurrences if o.name == name and o.home() is scope]

    @property
    def package(self) -> str:
        """The package that relative imports start from."""
        return self.name if self.is_package else self.name.rpartition(".")[0]

    @property
    def stem(self) -> str:
        """The last word of the module's name."""
        return self.name.rpartition(".")[2]

    def problem(self, offset: int, code: str, message: str, remedy: str) -> Problem:
        """A problem at an offset of this module."""
        line = min(self.source.line(offset), self.source.own_lines)
        return Problem(self.source.name, line, code, message, remedy)


@dataclass(eq=False)
class Program:
    """All modules of the recipe that the entry can reach, by name."""

    settings: Settings
    modules: dict[str, Module]
    entry: Module
    problems: list[Problem] = field(default_factory=list)  # imports that are not found; told with all that is wrong

    def is_ours(self, name: str) -> bool:
        """Whether a module name belongs to the recipe: its top package, or for a script a module beside it."""
        return is_ours(self.settings, name)


def scan(settings: Settings, texts: dict[str, str] | None = None) -> Program:
    """Read the entry and, over imports anywhere in the code, every module of the package.

    `texts` are those of modules in which something was written out (`namespaces`), by module.
    """
    return _Scanner(settings, texts or {}).run()


def is_ours(settings: Settings, name: str) -> bool:
    """Whether a module name belongs to the recipe: its top package, or for a script a module beside it."""
    top = name.split(".")[0]
    if "." in settings.entry:
        return top == settings.entry.split(".")[0]
    found = locate(settings.root, top)
    # Python takes an installed package before a directory without __init__.py, wherever both are.
    installed = top in STANDARD or top in settings.profile.machine.packages
    return found is not None and not (installed and found.is_dir())


def locate(root: Path, name: str) -> Path | None:
    """The file of a module under the recipe's root; for a namespace package, which has none, its directory."""
    base = root.joinpath(*name.split("."))
    for path in (base / "__init__.py", base.with_name(base.name + ".py")):
        if path.is_file():
            return path
    return base if base.is_dir() and any(any(base.glob(form)) for form in ("*.py", "*/*.py")) else None


class _Scanner:
    def __init__(self, settings: Settings, texts: dict[str, str]) -> None:
        self.settings = settings
        self.texts = texts
        self.root = settings.root
        self.top = settings.entry.split(".")[0] if "." in settings.entry else None
        self.modules: dict[str, Module] = {}
        self.problems: list[Problem] = []

    def run(self) -> Program:
        waiting = [self.settings.entry]
        unread = False
        if self.settings.config:
            waiting.append(self.settings.config[0])
        while waiting:
            name = waiting.pop(0)
            if name in self.modules or self.locate(name) is None:
                continue
            try:
                module = self.modules[name] = self.read(name)
            except BuildError as error:
                self.problems += error.problems
                unread = True
                continue
            waiting += [run for found in module.imports for run in found.runs]
        if unread:
            raise BuildError(self.problems)
        return Program(self.settings, self.modules, self.modules[self.settings.entry], self.problems)

    # Files

    def is_ours(self, name: str) -> bool:
        return is_ours(self.settings, name)

    def locate(self, name: str) -> Path | None:
        return locate(self.root, name)

    def read(self, name: str) -> Module:
        path = self.locate(name)
        assert path is not None
        name_shown = path.relative_to(self.root).as_posix()
        source = Source(f"{name_shown}/", "") if path.is_dir() else Source.read(path, name_shown)
        source = source.rewritten(self.texts[name]) if name in self.texts else source
        tree = source.parse(self.settings.profile.machine.python)
        scope = scopes.analyze(source, tree)
        module = Module(name, source, tree, scope, path.is_dir() or path.name == "__init__.py", _future(tree))
        module.parts = _parts(module)
        for occurrence in scope.occurrences:
            module.by_part.setdefault(occurrence.part, []).append(occurrence)
            module.by_node[occurrence.node] = occurrence
        self.imports(module)
        for found in module.imports:
            module.parts[found.part].imports.append(found)
        return module

    # Imports

    def imports(self, module: Module) -> None:
        for index, part in enumerate(module.parts):
            typing = is_typing_block(part.node)
            for node, scope, around in _import_statements(part.node, module):
                at = _At(scope, index, node is part.node or typing, typing, around)
                try:
                    if isinstance(node, ast.ImportFrom):
                        self.import_from(module, node, at)
                    else:
                        self.plain_import(module, node, at)
                except BuildError as error:
                    self.problems += error.problems

    def plain_import(self, module: Module, node: ast.Import, at: _At) -> None:
        for alias in node.names:
            top = alias.name.split(".")[0]
            if not self.is_ours(alias.name):
                target: Target = External(alias.name if alias.asname else top, None)
                module.imports.append(at.found(alias.asname or top, target, node, alias, ()))
                continue
            runs = self.chain(module, node, alias.name)
            bound = alias.name if alias.asname else top
            if alias.asname and bound == module.name:
                raise BuildError([self.self_import(module, node)])
            module.imports.append(at.found(alias.asname or top, InPackage(bound), node, alias, runs))

    def import_from(self, module: Module, node: ast.ImportFrom, at: _At) -> None:
        if node.module == "__future__":
            return
        name = self.absolute(module, node)
        if not self.is_ours(name):
            for alias in node.names:
                outside = External(name, alias.name)
                module.imports.append(at.found(alias.asname or alias.name, outside, node, alias, ()))
            return
        runs = self.chain(module, node, name)
        for alias in node.names:
            submodule = f"{name}.{alias.name}"
            also = (submodule,) if alias.name != "*" and self.locate(submodule) else ()
            target = Member(name, alias.name)
            if also and submodule == module.name:
                raise BuildError([self.self_import(module, node)])
            module.imports.append(at.found(alias.asname or alias.name, target, node, alias, runs + also))

    def self_import(self, module: Module, node: ast.stmt) -> Problem:
        return module.problem(
            module.source.start(node),
            "BLD014",
            f"the module {module.name} imports itself",
            "call the function by its own name; in one file a module has no name of its own",
        )

    def absolute(self, module: Module, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        parts = module.package.split(".") if module.package else []
        if len(parts) < node.level:
            message = f"`from {'.' * node.level}{node.module or ''}` leads out of the package"
            remedy = "put an __init__.py beside the file, or import by the full name"
            raise BuildError([module.problem(module.source.start(node), "BLD010", message, remedy)])
        base = parts[: len(parts) - node.level + 1]
        return ".".join([*base, node.module] if node.module else base)

    def chain(self, module: Module, node: ast.stmt, name: str) -> tuple[str, ...]:
        """The modules that Python runs to import `name`: packages from the outermost in, then the module."""
        parts = name.split(".")
        names = [".".join(parts[: i + 1]) for i in range(len(parts))]
        for prefix in names:
            if self.locate(prefix) is None:
                looked = prefix.replace(".", "/")
                message = f"{prefix} is not found: neither {looked}.py nor {looked}/__init__.py exists"
                remedy = "add the module, or correct the import; an import that fails is never skipped"
                raise BuildError([module.problem(module.source.start(node), "BLD010", message, remedy)])
        return tuple(names)


@dataclass(frozen=True)
class _At:
    """Where an import statement stands."""

    scope: Scope
    part: int
    direct: bool
    typing: bool
    around: _Around

    def found(
        self, bound: str, target: Target, node: ast.Import | ast.ImportFrom, alias: ast.alias, runs: tuple[str, ...]
    ) -> Import:
        place = (self.scope, self.part, self.direct)
        around = (self.around.guard, self.around.caught, self.around.spare)
        return Import(bound, target, node, alias, *place, runs, self.typing, *around)


Statement = ast.Import | ast.ImportFrom
BLOCKS = (
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.If,
    ast.Try,
    ast.TryStar,
    ast.With,
    ast.AsyncWith,
    ast.For,
    ast.AsyncFor,
)


@dataclass(frozen=True)
class _Around:
    """What stands around an import statement and concerns its failure."""

    guard: ast.stmt | None = None
    caught: bool = False
    spare: ast.stmt | None = None


def _import_statements(node: ast.stmt, module: Module) -> list[tuple[Statement, Scope, _Around]]:
    """Import statements in a part, each with its scope and what passes its failure over."""
    if isinstance(node, Statement):
        return [(node, module.scope, _Around())]
    if not isinstance(node, (*BLOCKS, ast.While, ast.Match)):
        return []
    found: list[tuple[Statement, Scope, _Around]] = []
    scope_of = module.scope.scopes

    def walk(statement: ast.AST, scope: Scope, around: _Around) -> None:
        inside = around
        tried: list[ast.stmt] = []
        if isinstance(statement, (ast.Try, ast.TryStar)) and any(map(catches_import_error, statement.handlers)):
            tried = statement.body
            passed = any(map(_passes_over, statement.handlers))
            inside = replace(around, caught=True, guard=around.guard or (statement if passed else None))
        elif isinstance(statement, ast.With) and any(
            "suppress" in ast.unparse(item.context_expr) for item in statement.items
        ):
            tried = statement.body
            inside = replace(around, caught=True, guard=around.guard or statement)
        for child in inner_statements(statement):
            here = inside if child in tried else around
            if isinstance(child, Statement):
                found.append((child, scope, here))
                continue
            if isinstance(child, ast.ExceptHandler) and isinstance(statement, (ast.Try, ast.TryStar)):
                here = replace(around, spare=statement) if catches_import_error(child) else around
            elif isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                here = _Around()  # it runs elsewhere
            walk(child, scope_of.get(child, scope), here)

    walk(node, scope_of.get(node, module.scope), _Around())
    return found


def _passes_over(handler: ast.ExceptHandler) -> bool:
    """Whether a handler may let the program go on after a failing import: one that ends in `raise` does not."""
    leaves = any(isinstance(node, (ast.Return, ast.Break, ast.Continue)) for node in trees.nodes(handler))
    return catches_import_error(handler) and (leaves or not isinstance(handler.body[-1], ast.Raise))


def catches_import_error(node: ast.AST) -> bool:
    """Whether an exception handler catches a failing import, as far as names tell; a name that tells nothing may."""
    if not isinstance(node, ast.ExceptHandler) or node.type is None:
        return True
    types = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
    return not all(isinstance(item, ast.Name) and item.id in OTHER_ERRORS for item in types)


OTHER_ERRORS = frozenset(
    name
    for name, value in vars(builtins).items()
    if isinstance(value, type)
    and issubclass(value, BaseException)
    and not issubclass(value, ImportError)
    and not issubclass(ImportError, value)
)


def is_typing_block(node: ast.stmt) -> bool:
    """Whether a statement is `if TYPE_CHECKING:` without `else`."""
    match node:
        case ast.If(test=ast.Name(id="TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING"), orelse=[]):
            return True
    return False


def _future(tree: ast.Module) -> frozenset[str]:
    return frozenset(
        alias.name
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.module == "__future__"
        for alias in node.names
    )


def _parts(module: Module) -> list[Part]:
    source, parts, behind = module.source, [], 0
    for index, node in enumerate(module.tree.body):
        start, end = source.statement_start(node), source.end(node)
        line_end = source.line_end(end)
        rest = source.text[end:line_end].lstrip(" \t;")
        following = module.tree.body[index + 1] if index + 1 < len(module.tree.body) else None
        shares = following is not None and source.statement_start(following) < line_end
        tail = line_end if rest.startswith("#") and not shares else end
        if not shares and (not rest or rest.startswith("#")):
            tail = source.comments_below(tail, 0 if following else -1)
            line_end = max(line_end, tail)
        head = min(max(behind, 0), start)
        parts.append(Part(module, index, node, start, end, head, tail))
        behind = min(line_end + 1, len(source.text)) if not shares else end
    return parts
