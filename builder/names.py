"""Final names, decided last: when everything that is kept is known, and every scope that could hide a name is seen.

A name stays as it is unless two symbols want it, a builtin of that name is used elsewhere, or a local name hides it.
Then, in order: a hiding local variable is renamed in its function (`Block_local`); a hidden function or class gets an
alias (`model_Block = Block`), because its own name shows in tracebacks and kernel counts; anything else takes the name
of its module in front (`model_norm`).
"""

from __future__ import annotations

import ast
import builtins
import itertools
import keyword
import textwrap
from dataclasses import dataclass, field

from builder import trees
from builder.bindings import Bindings, Outside, Variable
from builder.edits import Edit
from builder.errors import BuildError, Problem
from builder.late import Late
from builder.link import Linker, is_main_block
from builder.rewrite import Rewrite
from builder.scan import Import, InPackage, Module, Part, Program
from builder.scopes import Occurrence, Scope
from builder.shake import Kept
from builder.shown import DEFINITIONS, Shown

Symbol = Variable | Outside
BUILTINS = frozenset(dir(builtins))


@dataclass(eq=False)
class Access:
    """One place that means a symbol."""

    module: Module
    occurrence: Occurrence
    end: int
    node: ast.AST


@dataclass
class Names:
    """The names of the artifact."""

    importers: dict[str, str] = field(default_factory=dict)  # late module -> the function that runs it
    cache: str = ""  # functools.cache, by which it runs once
    typing: str = ""  # typing.TYPE_CHECKING, where the artifact has imports for type checkers

    final: dict[Symbol, str] = field(default_factory=dict)
    aliases: dict[Variable, str] = field(default_factory=dict)  # second names, bound right after the definition
    covered: dict[Variable, bool] = field(default_factory=dict)  # ... of which only the definition has the first one;
    # true: that one is a builtin's, which others use, so that it must be freed again


def name_everything(
    program: Program, bindings: Bindings, linker: Linker, kept: Kept, rewrites: dict[str, Rewrite], late: Late
) -> Names:
    """Choose all names and write the edits for them into the rewrites."""
    namer = _Namer(program, bindings, linker, kept, rewrites, late)
    namer.collect()
    namer.choose()
    namer.write()
    if namer.problems:
        raise BuildError(namer.problems)
    return namer.names


class _Namer:
    def __init__(
        self,
        program: Program,
        bindings: Bindings,
        linker: Linker,
        kept: Kept,
        rewrites: dict[str, Rewrite],
        late: Late,
    ) -> None:
        self.program = program
        self.bindings = bindings
        self.linker = linker
        self.kept = kept
        self.rewrites = rewrites
        self.late = late
        self.names = Names()
        self.accesses: dict[Symbol, list[Access]] = {}
        self.reserved: set[str] = set(keyword.kwlist)
        self.identifiers: set[str] = set()
        self.pinned: dict[Symbol, tuple[Access, str]] = {}  # with the place that says why, and why
        self.locals: dict[tuple[Scope, str], str] = {}
        self.through_alias: dict[Access, str] = {}
        self.copies: dict[Import, Access] = {}
        self.unowned: set[str] = set()  # names that several definitions show, and no variable has
        self.labelled: set[tuple[Scope, str]] = set()  # local names that the text of an f-string's `{name=}` shows
        self.shown = Shown(bindings, linker, kept.parts)
        self.problems: list[Problem] = []

    def collect(self) -> None:
        """Every place in kept code that means a symbol, and every name that must stay free."""
        for part in self.kept.parts:
            module = part.module
            for occurrence in self.linker.live(part):
                self.identifiers.add(occurrence.name)
                reference = self.bindings.of(module, occurrence)
                if reference is not None and isinstance(reference.meaning, Symbol):
                    if occurrence.kind == "import" and isinstance(reference.meaning, Outside):
                        continue
                    node: ast.AST = occurrence.node
                    end = occurrence.end
                    if reference.attributes:
                        node = occurrence.attributes[reference.attributes - 1]
                        end = module.source.end(node)
                    access = Access(module, occurrence, end, node)
                    self.accesses.setdefault(reference.meaning, []).append(access)
                elif occurrence.home() is module.scope:
                    self.reserved.add(occurrence.name)
                self.pin(module, occurrence)
                if occurrence.debug:
                    self.labelled.add((occurrence.home(), occurrence.name))
            self.collect_copies(part)
        self.pin_builtins()

    def collect_copies(self, part: Part) -> None:
        """An import that becomes an assignment reads the imported variable where it stands."""
        for found in self.copying_imports(part):
            if found.alias.name == "*" or not self.linker.is_copied(part.module, found):
                continue
            meaning = self.bindings.target(found.target, found.bound)
            if isinstance(meaning, Symbol):
                start = part.module.source.start(found.statement)
                read = Occurrence(found.alias.name, start, start, found.scope, "copy", part.index, found.alias)
                self.copies[found] = Access(part.module, read, start, found.alias)
                self.accesses.setdefault(meaning, []).append(self.copies[found])

    def pin(self, module: Module, occurrence: Occurrence) -> None:
        """A class body that reads a name which it also binds may mean the module's: that one must keep its name."""
        meaning = self.bindings.fallback(module, occurrence)
        if isinstance(meaning, Symbol):
            access = Access(module, occurrence, occurrence.end, occurrence.node)
            self.pinned.setdefault(meaning, (access, "this class body reads and binds the same name"))

    def pin_builtins(self) -> None:
        """A variable with a builtin's name that is unbound at times: then the builtin is read, so it keeps its name."""
        for symbol, accesses in self.accesses.items():
            if not isinstance(symbol, Variable) or symbol.name not in BUILTINS:
                continue
            for access in accesses:
                if access.module.name == symbol.module and self.may_read_builtin(symbol, access.occurrence):
                    self.pinned.setdefault(symbol, (access, "what is read here may be the builtin of that name"))

    def may_read_builtin(self, variable: Variable, occurrence: Occurrence) -> bool:
        """Whether a read of a variable may come while it is unbound."""
        if occurrence.kind != "load":
            return False
        if not occurrence.scope.deferred:
            return self.bindings.before(variable, occurrence.part) is not True
        if self.bindings.at_end(variable) is not True or self.bindings.is_unbound_at_times(variable):
            return True
        parts = self.program.modules[variable.module].parts
        first = min(self.bindings.binders(variable))
        definitions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)
        return any(not isinstance(part.node, definitions) for part in parts[occurrence.part + 1 : first])

    # Choice

    def order(self) -> list[Symbol]:
        """Symbols by their claim to a name: hooks, names that cannot change, imports, kernels, the rest."""
        entry = self.program.entry
        hooks = [self.bindings.variable(entry, hook) for hook in self.program.settings.hooks]
        found: list[Symbol] = [hook for hook in hooks if isinstance(hook, Variable)]
        found += self.pinned
        found += self.kept.outside
        bound: list[Symbol] = []
        for part in self.kept.parts:
            for occurrence in self.linker.live(part):
                if occurrence.home() is part.module.scope and occurrence.kind in ("store", "definition", "import"):
                    variable = Variable(part.module.name, occurrence.name)
                    if self.bindings.variable(part.module, occurrence.name) == variable:
                        bound.append(variable)
            for name, imports in self.bindings.star_copies(part.module).items():
                variable = Variable(part.module.name, name)
                if any(found.part == part.index for found in imports) and variable in self.accesses:
                    bound.append(variable)
        found += [variable for variable in bound if isinstance(variable, Variable) and self.is_kernel(variable)]
        return list(dict.fromkeys(found + bound))

    def is_kernel(self, variable: Variable) -> bool:
        definition = self.bindings.definition(variable)
        module = self.program.modules[variable.module]
        decorators = getattr(definition, "decorator_list", [])
        return any(is_jit(self.bindings, module, decorator) for decorator in decorators)

    def choose(self) -> None:
        symbols = self.order()
        wanted = {_wanted(symbol) for symbol in symbols}
        covered = set(self.claims(symbols))
        taken = set(self.unowned)
        for symbol in symbols:
            name = self.cover(symbol, taken, wanted) if symbol in covered else self.name(symbol, taken, wanted)
            self.names.final[symbol] = name
            taken.add(name)
        for module in sorted(self.late.running):
            words = module.split(".")
            spoken = ("import_" + "_".join(words[i:]).lstrip("_") for i in range(len(words) - 1, -1, -1))
            free = (name for name in spoken if name not in taken | wanted | self.reserved | self.identifiers)
            name = next(free, None) or self.free("import_" + "_".join(words), taken | wanted)
            self.names.importers[module] = name
            taken.add(name)
        if self.late.running:
            self.names.cache = self.free("cache", taken | wanted)
        if self.kept.typing:
            checking = Outside("TYPE_CHECKING", "typing", "TYPE_CHECKING")
            self.names.typing = self.names.final.get(checking) or self.free("TYPE_CHECKING", taken | wanted)

    def claims(self, symbols: list[Symbol]) -> list[Variable]:
        """Give each name that several want to the last definition that shows it, if one does: moves it to the front of
        `symbols`. Returns the other definitions that show theirs.
        """
        rivals: dict[str, list[Symbol]] = {}
        for symbol in symbols:
            rivals.setdefault(_wanted(symbol), []).append(symbol)
        places = {part: i for i, part in enumerate(self.kept.parts)}
        covered: list[Variable] = []
        owners: list[Symbol] = []
        for name, group in rivals.items():
            if len(group) < 2 and name not in self.reserved:
                continue
            shown = [symbol for symbol in group if isinstance(symbol, Variable) and self.shows(symbol)]
            if not shown:
                continue
            shown.sort(key=lambda symbol: max(places.get(part, -1) for part in self.parts_of(symbol)))
            fixed = [symbol for symbol in group if symbol in self.pinned or self.is_hook(symbol)]
            if not fixed and self.is_bound_among(shown[-1], shown[:-1], places):
                self.unowned.add(name)  # its variable would be overwritten by the other definitions
                covered += shown
                continue
            if name not in self.reserved and shown[-1] not in fixed[1:] and (not fixed or shown[-1] is fixed[0]):
                owners.insert(0, shown.pop())
            elif fixed:
                self.problems += [self.inseparable(symbol) for symbol in shown if symbol is not fixed[0]]
                continue
            covered += shown
        symbols[:] = dict.fromkeys([*owners, *symbols])
        return covered

    def is_bound_among(self, last: Variable, others: list[Variable], places: dict[Part, int]) -> bool:
        """Whether the variable that is defined last may be bound before the others are defined."""
        behind = max((places.get(part, -1) for other in others for part in self.parts_of(other)), default=-1)
        first = min(places[part] for part in self.parts_of(last) if part in places)
        return bool(others) and (first < behind or self.bindings.changes(last))

    def shows(self, symbol: Variable) -> bool:
        """Whether something can see the name of what a variable is bound to."""
        accesses = self.accesses.get(symbol, [])
        return self.shown.shows(symbol, ((a.module, a.occurrence, a.node) for a in accesses))

    def is_hook(self, symbol: Symbol) -> bool:
        hooks = self.program.settings.hooks
        return isinstance(symbol, Variable) and symbol.name in hooks and symbol.module == self.program.entry.name

    def parts_of(self, symbol: Variable) -> list[Part]:
        module = self.program.modules[symbol.module]
        return [module.parts[index] for index in self.bindings.binders(symbol)]

    def cover(self, symbol: Variable, taken: set[str], wanted: set[str]) -> str:
        """A second name for a definition that shows its first one, which is (or becomes) another's."""
        if not self.shown.is_whole(symbol):
            self.problems.append(self.inseparable(symbol))
        second = self.other(symbol, taken, wanted)
        self.names.aliases[symbol] = second
        self.names.covered[symbol] = symbol.name in self.reserved
        return second

    def inseparable(self, symbol: Variable) -> Problem:
        definition = self.shown.definitions(symbol)[0]
        message = f"`{symbol.name}` is the name of something else too, and what is defined here shows its name"
        module = self.program.modules[symbol.module]
        return module.problem(definition.start, "BLD033", message, "rename one of the two")

    def name(self, symbol: Symbol, taken: set[str], wanted: set[str]) -> str:
        original = _wanted(symbol)
        if original not in taken and original not in self.reserved:
            hiding = self.hiding(symbol, original)
            if not hiding:
                return original
            if all(_can_rename(scope, original) and (scope, original) not in self.labelled for scope in hiding):
                for scope in hiding:
                    self.locals.setdefault((scope, original), self.free(f"{original}_local", taken | wanted))
                return original
            if isinstance(symbol, Variable) and isinstance(self.bindings.definition(symbol), DEFINITIONS):
                self.alias(symbol, original, taken, wanted)
                return original
        if symbol in self.pinned:
            access, why = self.pinned[symbol]
            message = f"`{original}` is taken by another module, and {why}"
            self.problems.append(
                access.module.problem(access.occurrence.start, "BLD033", message, "give one of the two another name")
            )
        return self.other(symbol, taken, wanted)

    def other(self, symbol: Symbol, taken: set[str], wanted: set[str]) -> str:
        """A speaking name that is free everywhere the symbol is used."""
        original = _wanted(symbol)
        if isinstance(symbol, Variable):
            words = symbol.module.split(".")
        else:
            words = [*symbol.module.split("."), symbol.name] if symbol.name else symbol.module.split(".")
        bare = original.lstrip("_")
        private = "_" if bare != original else ""
        spoken = [private + "_".join([*words[i:], bare]).lstrip("_") for i in range(len(words) - 1, -1, -1)]
        if bare.isupper():
            spoken = [name.upper() for name in spoken]
        numbered = (f"{spoken[0]}_{i}" for i in itertools.count(2))
        used = (taken, wanted, self.reserved, self.identifiers)
        for name in itertools.chain(spoken, numbered):
            if name.isidentifier() and not any(name in names for names in used) and not self.hiding(symbol, name):
                return name
        raise AssertionError("numbers do not end")

    def hiding(self, symbol: Symbol, name: str) -> list[Scope]:
        """Scopes that would catch `name` at one of the symbol's places."""
        found = []
        for access in self.accesses.get(symbol, []):
            occurrence = access.occurrence
            if occurrence.name == name and access.node is occurrence.node and occurrence.kind != "copy":
                continue  # found here before, so found here again
            found += [s for s in access.occurrence.chain() if self.catches(s, name, symbol, access.module)]
        return list(dict.fromkeys(found))

    def catches(self, scope: Scope, name: str, symbol: Symbol, module: Module) -> bool:
        bound = scope.bound.get(name)
        if not bound or name in scope.globals or name in scope.nonlocals or self.locals.get((scope, name)):
            return False
        # An import that is looked through leaves no variable behind.
        return not (bound[0].kind == "import" and self.bindings.is_looked_through(module, bound[0]))

    def free(self, name: str, used: set[str]) -> str:
        used = used | self.reserved | self.identifiers | set(self.locals.values())
        numbered = (f"{name}{i}" for i in itertools.count(2))
        return next(candidate for candidate in itertools.chain([name], numbered) if candidate not in used)

    def alias(self, symbol: Variable, original: str, taken: set[str], wanted: set[str]) -> None:
        """A second name for the places where a parameter or class member hides the first."""
        second = self.other(symbol, taken, wanted)
        self.names.aliases[symbol] = second
        taken.add(second)
        for access in self.accesses[symbol]:
            if any(self.catches(scope, original, symbol, access.module) for scope in access.occurrence.chain()):
                self.through_alias[access] = second

    # Edits

    def write(self) -> None:
        for symbol, accesses in self.accesses.items():
            final = self.names.final.get(symbol)
            if final is None:
                continue  # bound nowhere in kept code: reported as undefined when the output is proven
            for access in accesses:
                if access.occurrence.kind == "definition" and symbol in self.names.covered:
                    continue
                self.write_access(access, self.through_alias.get(access, final))
        for part in self.kept.parts:
            self.write_locals(part)
            self.write_dunder_name(part)
            self.write_copies(part)

    def write_access(self, access: Access, name: str) -> None:
        occurrence, module = access.occurrence, access.module
        old = module.source.text[occurrence.start : access.end]
        rewrite = self.rewrites[module.name]
        if occurrence.kind == "copy":
            return
        if occurrence.kind == "type_load":
            self.write_annotation(module, occurrence, name)
            return
        if old == name:
            return
        if occurrence.debug:
            message = f"`{old}` becomes `{name}`, which the text of `{{{old}=}}` would show"
            self.problems.append(
                module.problem(occurrence.start, "BLD032", message, "write the label as text: `name={name}`")
            )
        if occurrence.kind == "import":
            self.write_import(module, occurrence, name)
            return
        rewrite.edits.append(Edit(occurrence.start, access.end, (name,)))
        rewrite.renamed[(access.node, occurrence.name)] = name

    def write_import(self, module: Module, occurrence: Occurrence, name: str) -> None:
        alias = occurrence.node
        found = self.bindings.import_of(occurrence)
        assert isinstance(alias, ast.alias)
        rewrite = self.rewrites[module.name]
        rewrite.renamed[(alias, occurrence.name)] = name
        if found is not None and self.linker.is_copied(module, found):
            return  # written as an assignment
        if alias.asname:
            rewrite.edits.append(Edit(occurrence.start, occurrence.end, (name,)))
        elif "." in alias.name:
            message = f"`import {alias.name}` binds `{occurrence.name}`, which is the name of something else too"
            remedy = "import it at the top of the module, or as a name of its own"
            self.problems.append(module.problem(occurrence.start, "BLD033", message, remedy))
        else:
            text = module.source.text[occurrence.start : occurrence.end]
            rewrite.edits.append(Edit(occurrence.start, occurrence.end, (f"{text} as {name}",)))

    def write_annotation(self, module: Module, occurrence: Occurrence, name: str) -> None:
        if occurrence.name == name:
            return
        node = occurrence.node
        assert isinstance(node, ast.Constant)
        text = _with_name(str(node.value), occurrence.name, name)
        node.value = text
        rewrite = self.rewrites[module.name]
        rewrite.edits = [edit for edit in rewrite.edits if (edit.start, edit.end) != (occurrence.start, occurrence.end)]
        rewrite.edits.append(Edit(occurrence.start, occurrence.end, (f'"{text}"',)))

    def write_locals(self, part: Part) -> None:
        if not self.locals:
            return
        rewrite = self.rewrites[part.module.name]
        for occurrence in self.linker.live(part):
            name = self.locals.get((occurrence.home(), occurrence.name))
            if name is None or occurrence.kind == "type_load":
                continue
            if occurrence.kind == "import":
                found = self.bindings.import_of(occurrence)
                if found is not None and self.linker.is_copied(part.module, found):
                    rewrite.renamed[(occurrence.node, occurrence.name)] = name
                    continue
            self.write_access(Access(part.module, occurrence, occurrence.end, occurrence.node), name)

    def write_dunder_name(self, part: Part) -> None:
        """`__name__` of an inner module is what it was in the package."""
        if part.module is self.program.entry or is_main_block(part.node):
            return
        rewrite = self.rewrites[part.module.name]
        for occurrence in self.linker.live(part):
            if (
                occurrence.name == "__name__"
                and occurrence.kind == "load"
                and self.bindings.is_builtin(part.module, occurrence)
            ):
                quote = "'" if occurrence.quote.startswith('"') else '"'
                rewrite.edits.append(Edit(occurrence.start, occurrence.end, (f"{quote}{part.module.name}{quote}",)))
                rewrite.expressions[occurrence.node] = ast.Constant(part.module.name)

    def write_copies(self, part: Part) -> None:
        """Imports of the recipe's own that need a variable become assignments."""
        module = part.module
        rewrite = self.rewrites[module.name]
        statements: dict[ast.AST, list[Import]] = {}
        for found in self.copying_imports(part):
            statements.setdefault(found.statement, []).append(found)
        for statement, imports in statements.items():
            start, end = module.source.start(imports[0].statement), module.source.end(imports[0].statement)
            called = self.late.calls(module, imports[0].statement)
            lines: list[str] = []
            for found in [found for found in part.imports if found.statement is statement]:
                if not found.runs and not found.direct:
                    lines.append(self.plain_import(module, found))
                runs = [name for name in found.runs if name in called]
                called = [name for name in called if name not in runs]
                lines += [f"{self.names.importers[name]}()" for name in runs]
                if found in imports:
                    lines += [f"{bound} = {value}" for bound, value in self.copied(module, found)]
            indent = module.source.text[module.source.line_start(start) : start]
            text = ("; " if indent.strip() else f"\n{indent}").join(lines) or "pass"
            rewrite.edits.append(Edit(start, end, (text,)))
            rewrite.statements[statement] = ast.parse(
                textwrap.dedent(indent + text) if not indent.strip() else text
            ).body

    def plain_import(self, module: Module, found: Import) -> str:
        """An import from outside that shares its statement with the recipe's own."""
        bound = self.rewrites[module.name].renamed.get((found.alias, found.bound), found.bound)
        if bound == found.bound and not found.alias.asname:
            return f"import {found.alias.name}"
        if "." in found.alias.name and not found.alias.asname:
            message = f"`{found.bound}` takes another name, which this import cannot give"
            remedy = "import it in a statement of its own"
            self.problems.append(module.problem(module.source.start(found.statement), "BLD033", message, remedy))
        return f"import {found.alias.name} as {bound}"

    def copying_imports(self, part: Part) -> list[Import]:
        """Imports of the recipe's own in a part whose statements are still there."""
        rewrite = self.rewrites[part.module.name]
        return [
            found
            for found in part.imports
            if found.runs and found.statement not in rewrite.statements
            if not self.linker.is_dead(part.module, found.statement)
        ]

    def copied(self, module: Module, found: Import) -> list[tuple[str, str]]:
        """What an import binds as variables, as pairs (name here, name of the value), both final."""
        if found.alias.name == "*":
            named = self.linker.copied_by_star(module, found)
            wanted = [(Variable(module.name, name), value) for name, value in named]
            final = self.names.final
            return [(final[variable], final[value]) for variable, value in wanted if variable in self.accesses]
        if not self.linker.is_copied(module, found):
            return []
        meaning = self.bindings.target(found.target, found.bound)
        if isinstance(meaning, InPackage) and not self.is_read(module, found):
            return []
        if not isinstance(meaning, Symbol) or meaning not in self.names.final:
            message = f"`{found.bound}` stands for a module, and is bound in a block or more than once"
            remedy = "import the module at the top, under a name of its own"
            self.problems.append(module.problem(module.source.start(found.statement), "BLD013", message, remedy))
            return []
        bound = self.rewrites[module.name].renamed.get((found.alias, found.bound), found.bound)
        return [(bound, self.through_alias.get(self.copies[found], self.names.final[meaning]))]

    def is_read(self, module: Module, found: Import) -> bool:
        """Whether anything reads the variable that an import binds."""
        home = module.by_node[found.alias].home()
        if home.kind == "class":
            return True  # as an attribute
        if home is module.scope:
            return any(a.occurrence.kind != "import" for a in self.accesses.get(Variable(module.name, found.bound), []))
        parts = module.by_part.get(found.part, [])
        return any(o.name == found.bound and o.kind != "import" and o.home() is home for o in parts)


def _can_rename(scope: Scope, name: str) -> bool:
    """Whether a scope's variable can take another name: no parameter, no class member, nothing that shows its own
    name, in no function that reads its names as a dictionary.
    """
    aliases = [o.node for o in scope.bound[name] if isinstance(o.node, ast.alias)]
    if scope.reads_itself or any("." in alias.name and not alias.asname for alias in aliases):
        return False  # `import os.path` binds nothing but os
    return scope.kind in ("function", "comprehension") and all(
        o.kind in ("store", "delete", "import") for o in scope.bound[name]
    )


def _with_name(text: str, old: str, new: str) -> str:
    """The text of an expression with every `old` that is a name in it (no attribute, no keyword, no string) renamed."""
    blank = len(text) - len(text.lstrip())
    tree = ast.parse(text.strip(), mode="eval")
    starts = [0]
    for line in text.strip().splitlines(keepends=True):
        starts.append(starts[-1] + len(line.encode()))
    data = text.strip().encode()
    places = [starts[n.lineno - 1] + n.col_offset for n in trees.nodes(tree) if isinstance(n, ast.Name) and n.id == old]
    for place in sorted(places, reverse=True):
        data = data[:place] + new.encode() + data[place + len(old.encode()) :]
    return text[:blank] + data.decode()


def _wanted(symbol: Symbol) -> str:
    return symbol.name if isinstance(symbol, Variable) else symbol.bound


def is_jit(bindings: Bindings, module: Module, decorator: ast.expr) -> bool:
    """Whether a decorator is `nki.jit` or `nki.jit(...)`."""
    node = decorator.func if isinstance(decorator, ast.Call) else decorator
    return bindings.outside_path_of(module, node) == "nki.jit"
