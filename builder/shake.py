"""Phase 4, shake: keep the parts that the hooks, the `__main__` block and side effects reach; nothing else."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from builder import hints, main_block, trees
from builder.availability import lacks
from builder.bindings import Bindings, Outside, Variable
from builder.effects import Effects
from builder.environment import CHANGING
from builder.errors import Problem
from builder.late import Late
from builder.link import Linker, is_main_block
from builder.scan import External, Import, Member, Module, Part, Program
from builder.versions import STANDARD


@dataclass
class Kept:
    """What goes into the artifact: parts in order, and what they import from outside, in order of first import."""

    parts: list[Part]
    outside: dict[Outside, list[Import]] = field(default_factory=dict)  # with the imports that give it
    bare: list[Import] = field(default_factory=list)  # imports for their effect alone
    typing: set[Import] = field(default_factory=set)  # those for type checkers alone, of what the machine lacks


class Shaker:
    """Chooses the parts; `problems` are what is wrong with them. A missing hook is a BuildError at once."""

    def __init__(self, program: Program, bindings: Bindings, linker: Linker, late: Late) -> None:
        self.program = program
        self.bindings = bindings
        self.linker = linker
        self.late = late
        self.effects = Effects(bindings, STANDARD, linker.rewrites)
        self.kept: set[Part] = set()
        self.waiting: list[Part] = []
        self.problems: list[Problem] = []
        self.warnings: list[str] = []
        self.lazy: list[tuple[Part, Import]] = []
        self.executed: set[str] = set()  # the modules that Python runs at some time
        self._homes: dict[Import, Module] = {}

    def run(self) -> Kept:
        """Choose the parts, and gather what they import from outside."""
        self.hooks()
        self.executed = set(self.linker.started)
        for part in self.linker.order:
            self.check_imports(part)
            self.consider(part)
        self.follow()
        while late := self.late.settle(self.linker, self.kept, self.executed) - self.kept:
            for part in late:
                self.keep(part)
            self.follow()
        parts = [part for part in self.linker.order if part in self.kept]
        self.problems += self.late.write(self.linker.rewrites)
        self.narrow(parts)
        self.check_main_blocks(parts)
        kept = Kept(parts)
        self.outside(kept)
        self.check_order(parts)
        self.check_submodules()
        return kept

    def follow(self) -> None:
        """Keep what kept parts need, to the end."""
        while self.waiting or self.lazy or self.needs_union():
            if self.waiting:
                self.reach(self.waiting.pop())
            elif self.lazy:
                importer, found = self.lazy.pop(0)
                self.place(importer, found.runs)
                self.execute(found.runs)

    def hooks(self) -> None:
        """Keep what the contest calls."""
        settings = self.program.settings
        for hook in settings.hooks:
            meaning = self.bindings.variable(self.program.entry, hook)
            if not isinstance(meaning, Variable):
                raise settings.refuse(
                    "hooks", f"{self.program.entry.source.name} has no function `{hook}`", "define it there", "BLD040"
                )
            self.need(meaning)

    def check_main_blocks(self, parts: list[Part]) -> None:
        """The block under `__name__ == "__main__"` is absent when the contest imports the file."""
        blocks = [part for part in parts if is_main_block(part.node)]
        acting = [part for part in parts if part not in blocks and self.has_effects(part)] if blocks else []
        for block in blocks:
            self.problems += main_block.problems(block, self.program.settings.hooks, acting, self.linker, self.effects)

    def check_imports(self, part: Part) -> None:
        """An import runs when its module does, whether its names are used or not."""
        for found in part.imports:
            if found.direct:
                self.problems += self.linker.check_import(part.module, found)

    def consider(self, part: Part) -> None:
        """Keep a part for its own sake: the `__main__` block, or a statement with side effects."""
        if is_main_block(part.node) or self.has_effects(part):
            self.keep(part)

    def keep(self, part: Part) -> None:
        """Keep a part, and follow its references later."""
        if part not in self.kept:
            self.kept.add(part)
            self.waiting.append(part)

    def need(self, variable: Variable) -> None:
        """Keep every part that binds a variable."""
        module = self.program.modules[variable.module]
        for index in self.bindings.binders(variable):
            part = module.parts[index]
            if module is self.program.entry or not is_main_block(part.node):  # else it never runs
                self.keep(part)

    def reach(self, part: Part) -> None:
        """Keep what a kept part refers to."""
        links = self.linker.links(part)
        self.problems += links.problems
        for variable in sorted(links.variables):
            if variable.module not in self.linker.started:
                words = variable.module.split(".")
                names = tuple(".".join(words[: i + 1]) for i in range(len(words)))
                self.place(part, names)
            self.need(variable)
        self.lazy += [(part, found) for found in links.lazy]
        rewrite = self.linker.rewrites[part.module.name]
        for index, offset, problem in rewrite.problems:
            if index == part.index and not any(start < offset < end for start, end in rewrite.dead):
                self.problems.append(problem)

    def is_kept(self, variable: Variable) -> bool:
        """Whether some part that binds a variable is kept."""
        module = self.program.modules[variable.module]
        return any(module.parts[index] in self.kept for index in self.bindings.binders(variable))

    def needs_union(self) -> bool:
        """Keep the members of annotated unions of which nothing else is kept."""
        for part in [part for part in self.linker.order if part in self.kept]:
            for union in self.linker.links(part).unions:
                named = [variables for _, variables in union.members if variables]
                if not any(all(map(self.is_kept, variables)) for variables in named):
                    for variable in sorted(set().union(*named)):
                        self.need(variable)
        return bool(self.waiting)

    def narrow(self, parts: list[Part]) -> None:
        """Take members of annotated unions that are not kept out of the code."""
        for part in parts:
            rewrite, source = self.linker.rewrites[part.module.name], part.module.source
            for union in self.linker.links(part).unions:
                gone = [not all(map(self.is_kept, variables)) for _, variables in union.members]
                if any(gone):
                    members = [member for member, _ in union.members]
                    hints.drop_members(source, rewrite, union.node, members, gone)
                    self.linker.forget(part)

    def place(self, importer: Part, names: tuple[str, ...]) -> None:
        """Put modules that only functions (or annotations) import where they can still be used in time: before the next
        part that may call one.
        """
        added = self.linker.run_lazily(names)
        if not added:
            return
        order = self.linker.order
        last = order.index(importer) + 1
        while last < len(order) and not (is_main_block(order[last].node) or self.has_effects(order[last])):
            last += 1
        first = order.index(importer) + 1
        while first < last and order[first].module is importer.module:
            first += 1
        needed = {variable for part in added for variable in self.linker.links(part).immediate}
        binding = {(v.module, index) for v in needed for index in self.bindings.binders(v)}
        late = any((part.module.name, part.index) in binding for part in order[first:last])
        at = last if late else first
        behind = [i for i in range(at, len(order)) if (order[i].module.name, order[i].index) in binding]
        at = max([at, *(i + 1 for i in behind)])  # Python runs it later still: what it needs is there by then
        order[at:at] = added
        for part in added:
            self.check_imports(part)

    def execute(self, names: tuple[str, ...]) -> None:
        """Consider the parts of modules that Python runs late, and of what they import; modules that are there for
        annotations alone never run.
        """
        waiting = [name for name in names if name not in self.executed]
        while waiting:
            name = waiting.pop()
            if name in self.executed:
                continue
            self.executed.add(name)
            for part in self.late.parts(name):
                if not self.linker.is_gone(part):
                    self.consider(part)
                for found in part.imports:
                    if not (found.scope.deferred or found.typing or self.linker.is_dead(part.module, found.statement)):
                        waiting += found.runs

    def has_effects(self, part: Part) -> bool:
        """Whether a part does anything but bind its names."""
        return self.effects.statement(part.node, part.module)

    def outside(self, kept: Kept) -> None:
        """Gather the imports from outside that kept parts use, and those that act by being imported."""
        used: set[Outside] = set()
        for part in kept.parts:
            used |= self.linker.links(part).outside
        modules = {part.module.name for part in kept.parts}
        inside: list[tuple[Outside, Import]] = []
        elsewhere: list[tuple[Outside, Import]] = []  # `import a.b` in modules of which nothing is kept
        for part in self.linker.order:
            for found in part.imports:
                if not found.direct or not isinstance(found.target, External):
                    continue
                meaning = Outside(found.bound, found.target.module, found.target.name)
                root = "." in found.alias.name and isinstance(found.statement, ast.Import) and not found.alias.asname
                if (
                    meaning in used
                    and (part.module.name in modules or not root)
                    and self.bindings.variable(part.module, found.bound) == meaning
                ):
                    if found in self.late.imports:
                        inside.append((meaning, found))
                    else:
                        kept.outside.setdefault(meaning, []).append(found)
                elif not found.typing and self.acts(part, found) and found not in self.late.imports:
                    kept.bare.append(found)
                elif meaning in used and root and self.bindings.variable(part.module, found.bound) == meaning:
                    elsewhere.append((meaning, found))
        for meaning, found in elsewhere:
            if meaning not in kept.outside:
                kept.outside[meaning] = [found]
        for meaning, found in inside:
            if not self.late.imports.issuperset(kept.outside.get(meaning, [])):
                continue  # imported early as well
            kept.outside.setdefault(meaning, []).append(found)
        for imports in kept.outside.values():
            if all(found.typing and self.is_lacking(found) for found in imports):
                kept.typing.update(imports)
        given = {found for imports in kept.outside.values() for found in imports}
        kept.bare += [
            found for part in self.linker.order for found in part.imports if found in self.late.imports - given
        ]

    def is_lacking(self, found: Import) -> bool:
        """Whether the contest's machine lacks what an import names."""
        return isinstance(found.target, External) and bool(lacks(self.program.settings, found.target.path))

    def acts(self, part: Part, found: Import) -> bool:
        """Whether an import whose names the artifact does not use is there for its effect."""
        module = found.alias.name if isinstance(found.statement, ast.Import) else found.statement.module or ""
        if module.split(".")[0] in self.effects.standard and not self.effects.import_has_effects(module):
            return False
        if self.effects.import_has_effects(module):
            return True
        uses = sum(o.name == found.bound and o.kind != "import" for o in part.module.scope.occurrences)
        return isinstance(found.statement, ast.Import) and not uses

    def is_standard(self, module: str) -> bool:
        """Whether a module is of the standard library."""
        return module.split(".")[0] in self.effects.standard

    def home(self, found: Import) -> Module:
        """The module in which an import stands."""
        if not self._homes:
            self._homes = {found: module for module in self.program.modules.values() for found in module.imports}
        return self._homes[found]

    def late_imports(self, kept: Kept) -> set[Import]:
        """Imports from outside that must stay behind the statements with effects that ran before them."""
        late: set[Import] = set(self.late.imports)
        early: set[str] = set()
        acted = False
        wanted = ({found for imports in kept.outside.values() for found in imports} | set(kept.bare)) - late
        for part in self.linker.order:
            for found in part.imports:
                if found in wanted:
                    name = found.alias.name if isinstance(found.statement, ast.Import) else found.statement.module or ""
                    top = name.split(".")[0]
                    if acted and not self.is_standard(name) and top not in early:
                        late.add(found)
                        kept_part = part
                        if kept_part not in self.kept:
                            self.kept.add(kept_part)
                    elif not acted:
                        early.add(top)
            acted = acted or (part in self.kept and self.is_action(part) and not is_main_block(part.node))
        kept.parts = [part for part in self.linker.order if part in self.kept]
        return late

    def is_action(self, part: Part) -> bool:
        """Whether a top-level statement is there for what it does, not for what it binds: what is imported behind it
        may see that, such as a variable of the environment or a setting of a library.
        """
        if _is_action(part.node):
            return True
        if not isinstance(part.node, (ast.Assign, ast.AnnAssign)):
            return False
        for node in trees.nodes(part.node):
            if isinstance(node, (ast.Attribute, ast.Subscript)) and not isinstance(node.ctx, ast.Load):
                return not self.is_own_container(part.module, node)
        paths = (self.bindings.outside_path(part.module, o) for o in part.module.by_part.get(part.index, []))
        return any(path.startswith("os.environ.") and path.rpartition(".")[2] in CHANGING for path in paths)

    def is_own_container(self, module: Module, node: ast.Attribute | ast.Subscript) -> bool:
        """Whether something is stored in a container that the recipe itself has made by a display."""
        root: ast.AST = node
        while isinstance(root, (ast.Attribute, ast.Subscript)):
            root = root.value
        occurrence = module.by_node.get(root)
        reference = self.bindings.of(module, occurrence) if occurrence else None
        if reference is None or not isinstance(reference.meaning, Variable):
            return False
        match self.bindings.definition(reference.meaning):
            case ast.Assign(value=value) | ast.AnnAssign(value=value):
                return isinstance(value, (ast.Dict, ast.List, ast.DictComp, ast.ListComp))
            case ast.ClassDef() | ast.FunctionDef():
                return True
        return False

    def check_order(self, parts: list[Part]) -> None:
        """Every name that a part needs while it runs must be bound by then: else the package itself imports in a
        circle.
        """
        remedy = "move the definition, so that neither module needs the other while it is imported"
        bound: set[Variable] = set()
        kept = set(parts)
        for part in self.linker.order:
            for occurrence in self.linker.live(part):
                if occurrence.kind in ("store", "definition", "import") and occurrence.home() is part.module.scope:
                    bound.add(Variable(part.module.name, occurrence.name))
            for name, imports in self.bindings.star_copies(part.module).items():
                if any(found.part == part.index for found in imports):
                    bound.add(Variable(part.module.name, name))
            late = part.module.name in self.late.modules
            for found in part.imports:
                if found.direct and not found.typing and isinstance(found.target, Member):
                    if late and not self.late.reaches(found.target.module, part.module.name):
                        continue  # it runs when that has
                    asked = Variable(found.target.module, found.target.name)
                    home = self.program.modules[asked.module]
                    if (
                        asked not in bound
                        and asked.name in home.scope.bound
                        and f"{home.name}.{asked.name}" not in (self.program.modules)
                    ):
                        message = f"`{asked.name}` is imported from {asked.module} while that is still being imported"
                        start = part.module.source.start(found.statement)
                        self.problems.append(part.module.problem(start, "BLD017", message, remedy))
            if part not in kept:
                continue
            for variable, occurrence in self.linker.links(part).immediate.items():
                if part in self.late.inside and variable.module not in self.late.running:
                    continue  # it runs when everything else has
                if variable not in bound and variable.module != part.module.name:
                    message = (
                        f"`{variable.name}` of {variable.module} is used here while that module is still being imported"
                    )
                    self.problems.append(part.module.problem(occurrence.start, "BLD017", message, remedy))

    def check_submodules(self) -> None:
        """A package's variable with the name of one of its modules: Python replaces it when that module is imported."""
        for package in self.program.modules.values():
            if not package.is_package or package.name not in self.linker.started:
                continue
            for name, occurrences in package.scope.bound.items():
                module = f"{package.name}.{name}"
                if module not in self.linker.started:
                    continue
                first = min(occurrence.part for occurrence in occurrences)
                if not any(found.part <= first and module in found.runs for found in package.imports):
                    message = f"`{name}` is a variable of {package.name} until the module {module} is imported"
                    remedy = "rename one of the two"
                    self.problems.append(package.problem(occurrences[0].start, "BLD033", message, remedy))


def _is_action(node: ast.stmt) -> bool:
    """Whether a statement is there for what it does, not for what it binds."""
    return not isinstance(
        node,
        (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign),
    )
