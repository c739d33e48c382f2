"""What a name stands for: a variable of a module of the recipe, a module, something from outside, or (None) a local or
builtin.

Imports between modules of the recipe are looked through: after `from .ops import norm as n`, `n` is the variable
`norm` of `recipe.ops`. Where looking through would be wrong, because the variable may change after the import, the
importing module has a variable of its own.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from builder.errors import Problem
from builder.exports import ComputedError, declared
from builder.scan import External, Import, InPackage, Member, Module, Program, Target
from builder.scopes import STRAIGHT, Occurrence
from builder.source import BLOCKS, all_statements
from builder.trees import root_of


@dataclass(frozen=True, order=True)
class Variable:
    """A module-level variable of the recipe (a function, a class, a value)."""

    module: str
    name: str


@dataclass(frozen=True, order=True)
class Outside:
    """Something imported from outside of the recipe, under the name that the importing module gives it."""

    bound: str
    module: str
    name: str | None

    @property
    def path(self) -> str:
        """Its dotted name."""
        return f"{self.module}.{self.name}" if self.name else self.module


@dataclass(frozen=True)
class Missing:
    """A name that an import asks for and its module does not have."""

    module: str
    name: str


Meaning = Variable | Outside | InPackage | Missing


@dataclass(frozen=True)
class Reference:
    """What an occurrence means, and how many of its attributes belong to that (`ops.norm.weight`: one, for
    `ops.norm`).
    """

    meaning: Meaning
    attributes: int


class Bindings:
    """Looks names up, over all modules of a program."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.modules = program.modules
        self._references: dict[Occurrence, Reference | None] = {}
        self._found: dict[tuple[str, str], Meaning | None] = {}
        self._by_alias: dict[ast.AST, Import] = {}
        self._star_copies: dict[str, dict[str, list[Import]]] = {}
        self._declared: dict[str, list[str] | None] = {}
        self.computed: dict[str, ast.stmt] = {}  # modules whose `__all__` only running them would show, and where
        self._givers: dict[str, dict[str, list[Import]]] = {}
        self._stars: dict[str, list[Import]] = {}
        self._behind: dict[tuple[str, str], set[str]] = {}
        self._certain: dict[Import, bool] = {}
        self._at_end: dict[Variable, bool | None] = {}
        self.problems: list[Problem] = []
        for module in program.modules.values():
            for found in module.imports:
                if found.alias.name == "*":
                    self._stars.setdefault(module.name, []).append(found)
                else:
                    self._by_alias[found.alias] = found

    def stars(self, module: Module) -> list[Import]:
        """The star imports of a module."""
        return self._stars.get(module.name, [])

    def star_copies(self, module: Module) -> dict[str, list[Import]]:
        """Names of star imports that need a variable of their own here: they are bound again, or may change."""
        if module.name not in self._star_copies:
            givers = self.givers(module)
            self._star_copies[module.name] = {
                name: imports for name, imports in givers.items() if self.needs_copy(module, name)
            }
        return self._star_copies[module.name]

    def givers(self, module: Module) -> dict[str, list[Import]]:
        """The star imports that give each name, in order."""
        if module.name not in self._givers:
            found: dict[str, list[Import]] = {}
            for star in self.stars(module):
                if isinstance(star.target, Member):
                    target = self.modules[star.target.module]
                    bound = self.bound_behind(target, module)
                    for name in self.exported(target):
                        if name in bound and self.at_end(Variable(target.name, name)) is not False:
                            found.setdefault(name, []).append(star)
            self._givers[module.name] = found
        return self._givers[module.name]

    def bound_behind(self, module: Module, importer: Module) -> set[str]:
        """The names that a module binds, by itself or by star imports that do not lead back to its importer."""
        key = (module.name, importer.name)
        if key not in self._behind:
            names = self._behind.setdefault(key, set())
            seen, waiting = {importer.name}, [module]
            while waiting:
                current = waiting.pop()
                if current.name not in seen:
                    seen.add(current.name)
                    names.update(current.scope.bound)
                    waiting += self.starred(current)
        return self._behind[key]

    def starred(self, module: Module) -> list[Module]:
        """The modules whose names a module takes by star imports."""
        return [self.modules[star.target.module] for star in self.stars(module) if isinstance(star.target, Member)]

    def needs_copy(self, module: Module, name: str) -> bool:
        """Whether a name from a star import means more than one thing in this module over time."""
        stars = self.givers(module).get(name, [])
        explicit = module.scope.bound.get(name, [])
        imports = [self.import_of(occurrence) for occurrence in explicit]
        direct = [found for found in imports if found is not None and found.direct]
        if not stars or len(direct) < len(explicit):
            return bool(stars)
        meanings = {self.variable(self.modules[s.target.module], name) for s in stars if isinstance(s.target, Member)}
        if any(isinstance(meaning, Variable) and self.changes(meaning) for meaning in meanings):
            return True
        meanings |= {self.target(found.target, name) for found in direct}
        if len(meanings) < 2:
            return False
        last = max(found.part for found in (*stars, *direct))
        used = (o for o in module.scope.occurrences if o.name == name and o.kind == "load" and not o.scope.deferred)
        return bool(explicit) or any(occurrence.part < last for occurrence in used)

    def binders(self, variable: Variable) -> list[int]:
        """The parts of a variable's module that bind it, functions that may bind it later left aside."""
        module = self.modules[variable.module]
        bound = [o.part for o in module.scope.bound.get(variable.name, []) if not o.scope.deferred]
        return bound + [found.part for found in self.star_copies(module).get(variable.name, [])]

    def import_of(self, occurrence: Occurrence) -> Import | None:
        """The import behind a binding of kind `import`."""
        return self._by_alias.get(occurrence.node)

    def variable(self, module: Module, name: str) -> Meaning | None:
        """What a module-level name means; None for a builtin or an undefined name."""
        key = (module.name, name)
        if key not in self._found:
            self._found[key] = Missing(*key)  # while looking: an import cycle that never reaches a definition
            self._found[key] = self._variable(module, name)
        return self._found[key]

    def _variable(self, module: Module, name: str) -> Meaning | None:
        bound = module.scope.bound.get(name)
        if self.stars(module) and self.needs_copy(module, name):
            return Variable(module.name, name)
        if bound is None:
            for star in reversed(self.givers(module).get(name, [])):
                if isinstance(star.target, Member):
                    return self.variable(self.modules[star.target.module], name)
            return None
        imports = [self.import_of(occurrence) for occurrence in bound]
        direct = [found for found in imports if found and found.direct and found.scope is module.scope]
        if len(direct) == len(bound) and len({found.target for found in direct}) == 1:
            meaning = self.target(direct[0].target, name)
            if not (isinstance(meaning, Variable) and self.changes(meaning)):
                return meaning
        return Variable(module.name, name)

    def target(self, target: Target, bound: str) -> Meaning:
        """What an import binds."""
        if isinstance(target, InPackage):
            return target
        if isinstance(target, External):
            return Outside(bound, target.module, target.name)
        return self.member(target.module, target.name)

    def member(self, module: str, name: str) -> Meaning:
        """What `module.name` means: a variable of the module first, then a submodule."""
        meaning = self.variable(self.modules[module], name)
        if meaning is None or isinstance(meaning, Missing):
            submodule = f"{module}.{name}"
            return InPackage(submodule) if submodule in self.modules else Missing(module, name)
        return meaning

    def changes(self, variable: Variable) -> bool:
        """Whether a variable may be bound again after its module has run: by a function's `global` statement."""
        bound = self.modules[variable.module].scope.bound.get(variable.name, [])
        return any(occurrence.scope.deferred for occurrence in bound)

    def exported(self, module: Module) -> list[str]:
        """What `from module import *` takes, in order: `__all__`, or else every name without a leading underscore."""
        declared = self.declared(module)
        if declared is not None:
            return declared
        names: dict[str, None] = {}
        seen: set[str] = set()
        waiting = [module]
        while waiting:
            current = waiting.pop()
            if current.name not in seen:
                seen.add(current.name)
                declared = self.declared(current)
                names.update(dict.fromkeys(current.scope.bound if declared is None else declared))
                waiting += reversed(self.starred(current)) if declared is None else []
        return [name for name in names if not name.startswith("_")]

    def declared(self, module: Module) -> list[str] | None:
        """A module's `__all__`, where it has one."""
        if module.name not in self._declared:
            self._declared[module.name] = None  # while looking: lists that are made of each other
            try:
                self._declared[module.name] = declared(module, lambda node: self.listed_by(module, node))
            except ComputedError as computed:
                self.computed[module.name] = computed.node
        return self._declared[module.name]

    def listed_by(self, module: Module, node: ast.Attribute) -> list[str] | None:
        """What `ops.__all__` lists, where `ops` is a module of the recipe."""
        occurrence = module.by_node.get(root_of(node))
        if occurrence is None or occurrence.home() is not module.scope:
            return None
        bound = [self.import_of(o) for o in module.scope.bound.get(occurrence.name, [])]
        if len(bound) != 1 or bound[0] is None or isinstance(bound[0].target, External):
            return None
        target = bound[0].target
        name = target.module if isinstance(target, InPackage) else f"{target.module}.{target.name}"
        name = ".".join([name, *(attribute.attr for attribute in occurrence.attributes[:-1])])
        return self.declared(self.modules[name]) if name in self.modules else None

    def of(self, module: Module, occurrence: Occurrence) -> Reference | None:
        """What an occurrence means; None for a local name or a builtin."""
        try:
            return self._references[occurrence]
        except KeyError:
            found = self._references[occurrence] = self._of(module, occurrence)
            return found

    def _of(self, module: Module, occurrence: Occurrence) -> Reference | None:
        home = occurrence.home()
        if home is module.scope:
            meaning = self.variable(module, occurrence.name)
        else:
            bound = home.bound[occurrence.name]
            found = self.import_of(bound[0]) if len(bound) == 1 and home.kind == "function" else None
            if found is None or isinstance(found.target, External) or not self.is_certain(module, found):
                return None
            meaning = self.target(found.target, occurrence.name)
            if isinstance(meaning, Variable) and self.changes(meaning):
                return None
        if meaning is None:
            return None
        used = 0
        while isinstance(meaning, InPackage) and used < len(occurrence.attributes):
            meaning = self.member(meaning.module, occurrence.attributes[used].attr)
            used += 1
        return Reference(meaning, used)

    def is_certain(self, module: Module, found: Import) -> bool:
        """Whether an import in a function has run wherever the function uses its name: all uses are behind it, in its
        own block.
        """
        if found not in self._certain:
            block = _block_of(found.scope.node, found.statement)
            first, last = module.source.end(found.statement), module.source.end(block[-1]) if block else 0
            home = module.by_node[found.alias].home()
            self._certain[found] = all(
                first <= occurrence.start < last
                for occurrence in module.by_part[found.part]
                if occurrence.name == found.bound and occurrence.kind != "import" and occurrence.home() is home
            )
        return self._certain[found]

    def fallback(self, module: Module, occurrence: Occurrence) -> Meaning | None:
        """What a class body reads from the module where it may not have bound the name itself."""
        if not occurrence.perhaps or occurrence.home() is not occurrence.scope:
            return None
        return self.variable(module, occurrence.name)

    def is_looked_through(self, module: Module, occurrence: Occurrence) -> bool:
        """Whether an import inside a function needs no variable: each use of the name reaches what it stands for."""
        reference = self.of(module, occurrence)
        return reference is not None and isinstance(reference.meaning, (Variable, InPackage))

    def is_builtin(self, module: Module, occurrence: Occurrence) -> bool:
        """Whether an occurrence is bound nowhere in the recipe."""
        return occurrence.home() is module.scope and self.variable(module, occurrence.name) is None

    def names_builtin(self, module: Module, node: ast.AST) -> bool:
        """Whether an expression is the name of a builtin."""
        occurrence = module.by_node.get(node)
        return occurrence is not None and self.is_builtin(module, occurrence)

    def outside_path(self, module: Module, occurrence: Occurrence) -> str:
        """The dotted name that an occurrence and its attributes stand for outside of the recipe; "" for all else."""
        reference = self.of(module, occurrence)
        if reference is None or not isinstance(reference.meaning, Outside):
            return ""
        attributes = (attribute.attr for attribute in occurrence.attributes[reference.attributes :])
        return ".".join([reference.meaning.path, *attributes])

    def outside_path_of(self, module: Module, node: ast.AST) -> str:
        """The dotted name that a name or attribute chain stands for outside of the recipe; "" for all else."""
        occurrence = module.by_node.get(root_of(node))
        return self.outside_path(module, occurrence) if occurrence else ""

    def imported_path(self, module: Module, occurrence: Occurrence) -> str:
        """As `outside_path`, imports in functions included."""
        home = occurrence.home()
        if self.of(module, occurrence) is not None or home is module.scope:
            return self.outside_path(module, occurrence)
        for bound in home.bound.get(occurrence.name, []):
            found = self.import_of(bound) if bound.kind == "import" else None
            if found is not None and isinstance(found.target, External):
                attributes = (attribute.attr for attribute in occurrence.attributes)
                return ".".join([found.target.path, *attributes])
        return ""

    def at_end(self, variable: Variable) -> bool | None:
        """Whether a variable is bound when its module has run: True, False (deleted again), or None for perhaps."""
        if variable not in self._at_end:
            self._at_end[variable] = self.before(variable, len(self.modules[variable.module].parts))
        return self._at_end[variable]

    def is_unbound_at_times(self, variable: Variable) -> bool:
        """Whether a variable is deleted somewhere, if only to be bound again."""
        bound = self.modules[variable.module].scope.bound.get(variable.name, [])
        return any(_effect(occurrence) != "bind" for occurrence in bound)

    def before(self, variable: Variable, index: int) -> bool | None:
        """Whether a variable is bound when a part of its module begins."""
        module, name = self.modules[variable.module], variable.name
        bound = module.scope.bound.get(name, [])
        state: bool | None = any(name in self.bound_behind(target, module) for target in self.starred(module))
        for part in sorted({o.part for o in bound if not o.scope.deferred and o.part < index}):
            node = module.parts[part].node
            kinds = {_effect(o) for o in bound if o.part == part and not o.scope.deferred}
            if isinstance(node, ast.AnnAssign) and node.value is None:
                continue
            if isinstance(node, STRAIGHT):
                state = kinds == {"bind"} or (None if len(kinds) > 1 else False)
            elif kinds == {"bind"}:
                state = state or _binds_always(node, {o.node for o in bound if o.part == part}) or None
            elif kinds != {"handler"} or state:
                state = None  # behind `except ... as name` the name is gone, if that handler ran
        return None if state is False and self.changes(variable) else state

    def definition(self, variable: Variable) -> ast.stmt | None:
        """The only statement that binds a variable, or None when there are several."""
        module = self.modules[variable.module]
        bound = module.scope.bound.get(variable.name, [])
        if len(bound) != 1 or bound[0].scope is not module.scope:
            return None
        if bound[0].kind == "definition":
            return bound[0].node  # type: ignore[return-value]
        return module.parts[bound[0].part].node


def _effect(occurrence: Occurrence) -> str:
    if occurrence.kind == "delete":
        return "delete"
    return "handler" if isinstance(occurrence.node, ast.ExceptHandler) else "bind"


def _binds_always(node: ast.stmt, binders: set[ast.AST]) -> bool:
    """Whether a statement reaches one of these places that bind a name, whichever way it goes."""
    match node:
        case ast.If():
            return bool(node.orelse) and all(
                any(_binds_always(inner, binders) for inner in block) for block in (node.body, node.orelse)
            )
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return node in binders
        case ast.Import() | ast.ImportFrom():
            return any(alias in binders for alias in node.names)
        case ast.Assign() | ast.AnnAssign():
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            return node.value is not None and any(target in binders for target in targets)
    return False


def _block_of(node: ast.AST, statement: ast.stmt) -> list[ast.stmt]:
    """The list of statements in which a statement stands, anywhere inside a function."""
    for holder in (node, *all_statements(node)):
        for name in BLOCKS:
            block = getattr(holder, name, None)
            if isinstance(block, list) and statement in block:
                return block
    return []
