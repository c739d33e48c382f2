"""Phase 3, link: the order in which Python would run the parts, and what each part refers to.

The order is that of a real import: a module's statements from the top, an imported module's where its import stands,
each module once. Flattened in this order, every statement finds the names that it found in the package.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from builder import hints, trees
from builder.bindings import Bindings, Meaning, Missing, Outside, Variable
from builder.errors import Problem
from builder.rewrite import Rewrite
from builder.scan import External, Import, InPackage, Member, Module, Part, Program
from builder.scopes import Occurrence

ATTRIBUTE_CALLS = ("getattr", "hasattr", "setattr", "delattr")


@dataclass
class Links:
    """What one part refers to in its live code."""

    variables: set[Variable] = field(default_factory=set)
    outside: set[Outside] = field(default_factory=set)
    immediate: dict[Variable, Occurrence] = field(default_factory=dict)  # needed while the part itself runs
    lazy: list[Import] = field(default_factory=list)  # imports of the recipe's modules inside functions
    problems: list[Problem] = field(default_factory=list)
    unions: list[Union] = field(default_factory=list)


@dataclass
class Union:
    """An annotation `A | B`: it keeps no member that nothing else keeps, as long as one is left."""

    node: ast.BinOp
    members: list[tuple[ast.expr, set[Variable]]]


class Linker:
    """Links parts on demand, and keeps the order of execution."""

    def __init__(self, program: Program, bindings: Bindings, rewrites: dict[str, Rewrite]) -> None:
        self.program = program
        self.bindings = bindings
        self.rewrites = rewrites
        self.order: list[Part] = []
        self.started: set[str] = set()
        self._links: dict[Part, Links] = {}
        self._live: dict[Part, tuple[int, list[Occurrence]]] = {}  # with how many spans were dead then
        parts = program.settings.entry.split(".")
        for i in range(len(parts)):
            self.run(".".join(parts[: i + 1]))

    def run(self, name: str) -> None:
        """Append a module's parts, and before each the modules that it imports."""
        module = self.program.modules.get(name)
        if module is None or name in self.started:
            return
        self.started.add(name)
        for part in module.parts:
            if self.is_gone(part) or (is_main_block(part.node) and module is not self.program.entry):
                continue
            for found in part.imports:
                if not (found.scope.deferred or found.typing or self.is_dead(module, found.statement)):
                    for run in found.runs:
                        self.run(run)
            self.order.append(part)

    def run_lazily(self, names: tuple[str, ...]) -> list[Part]:
        """Add modules that only functions import; returns their parts and those of what they import first."""
        behind, self.order = self.order, []
        for name in names:
            self.run(name)
        added, self.order = self.order, behind
        return added

    def is_gone(self, part: Part) -> bool:
        """Whether freezing removed the whole part."""
        return self.rewrites[part.module.name].statements.get(part.node) == []

    def is_dead(self, module: Module, node: ast.stmt) -> bool:
        """Whether freezing removed a statement."""
        return self.rewrites[module.name].is_dead(module.source.start(node))

    def is_live(self, module: Module, occurrence: Occurrence) -> bool:
        """Whether freezing left a name."""
        return not self.rewrites[module.name].is_dead(occurrence.start)

    def live(self, part: Part) -> list[Occurrence]:
        """The names in a part that freezing left."""
        rewrite = self.rewrites[part.module.name]
        dead, live = self._live.get(part, (-1, []))
        if dead != len(rewrite.dead):
            occurrences = part.module.by_part.get(part.index, [])
            live = [o for o in occurrences if not rewrite.is_dead(o.start)] if rewrite.dead else occurrences
            self._live[part] = len(rewrite.dead), live
        return live

    def links(self, part: Part) -> Links:
        """What a part refers to."""
        if part not in self._links:
            self._links[part] = self._link(part)
        return self._links[part]

    def _link(self, part: Part) -> Links:
        module, links = part.module, Links()
        strings = "annotations" in module.future
        live = self.live(part)
        weak = self.unions(part, links) if any(o.annotation for o in live) else set()
        for occurrence in live:
            if occurrence in weak:
                continue
            reference = self.bindings.of(module, occurrence)
            if reference is None:
                fallback = self.bindings.fallback(module, occurrence)
                if isinstance(fallback, Variable):
                    links.variables.add(fallback)
                elif isinstance(fallback, Outside):
                    links.outside.add(fallback)
                elif isinstance(fallback, InPackage):
                    message = f"`{occurrence.name}` is a member of this class, or else the module {fallback.module}"
                    remedy = "give one of the two another name"
                    links.problems.append(module.problem(occurrence.start, "BLD033", message, remedy))
                continue
            meaning = reference.meaning
            if occurrence.kind == "delete" and self.is_submodule(module, occurrence):
                message = f"`{occurrence.name}` is deleted, which nothing binds but the import of that submodule"
                links.problems.append(
                    module.problem(
                        occurrence.start, "BLD013", message, "leave it: in one file there is no module object"
                    )
                )
            if isinstance(meaning, Variable):
                links.variables.add(meaning)
                runs_now = occurrence.kind in ("load", "delete") and not occurrence.scope.deferred
                if runs_now and not (occurrence.annotation and strings):
                    links.immediate.setdefault(meaning, occurrence)
                if reference.attributes:
                    self.check_store(module, occurrence, reference.attributes, links)
            elif isinstance(meaning, Outside):
                if occurrence.kind != "import" or occurrence.scope is not module.scope:
                    links.outside.add(meaning)
            elif occurrence.kind != "import":
                links.problems.append(self.refuse(module, occurrence, meaning))
        links.outside.update(outside for index, outside in self.rewrites[module.name].needs if index == part.index)
        for found in part.imports:
            if not self.is_dead_import(module, found):
                if found.scope.deferred and found.runs:
                    links.lazy.append(found)
                links.problems += self.check_import(module, found)
                copied: list[Meaning] = []
                if found.alias.name == "*":
                    copied = [meaning for _, meaning in self.copied_by_star(module, found)]
                elif self.is_copied(module, found):
                    copied = [self.bindings.target(found.target, found.bound)]
                links.variables.update(meaning for meaning in copied if isinstance(meaning, Variable))
                links.outside.update(meaning for meaning in copied if isinstance(meaning, Outside))
        return links

    def is_submodule(self, module: Module, occurrence: Occurrence) -> bool:
        """Whether a name of a package is bound by nothing but the import of its submodule."""
        if occurrence.home() is not module.scope or f"{module.name}.{occurrence.name}" not in self.program.modules:
            return False
        return all(bound.kind == "delete" for bound in module.scope.bound.get(occurrence.name, []))

    def is_dead_import(self, module: Module, found: Import) -> bool:
        """Whether freezing folded the branch with an import away. (Imports that it looked through still count.)"""
        rewrite = self.rewrites[module.name]
        looked_through = rewrite.statements.get(found.statement) == [] and found.statement in rewrite.looked_through
        return not looked_through and self.is_dead(module, found.statement)

    def copied_by_star(self, module: Module, found: Import) -> list[tuple[str, Variable | Outside]]:
        """The names that a star import must bind as variables, with what they are copied from."""
        pairs: list[tuple[str, Variable | Outside]] = []
        for name, meaning in self.given_by_star(module, found):
            if isinstance(meaning, (Variable, Outside)):
                pairs.append((name, meaning))
        return pairs

    def given_by_star(self, module: Module, found: Import) -> list[tuple[str, Meaning | None]]:
        """The names that a star import gives and that need a variable here, with what they mean there."""
        if not isinstance(found.target, Member):
            return []
        home, copies = self.program.modules[found.target.module], self.bindings.star_copies(module)
        return [(name, self.bindings.variable(home, name)) for name, imports in copies.items() if found in imports]

    def is_copied(self, module: Module, found: Import) -> bool:
        """Whether an import of the recipe's own needs a variable: the name is bound again, or what it names may be."""
        if isinstance(found.target, External) or found.alias.name == "*":
            return False
        occurrence = module.by_node[found.alias]
        reference = self.bindings.of(module, occurrence)
        return reference is None or (
            reference.meaning == Variable(module.name, found.bound) and found.target != Member(module.name, found.bound)
        )

    def unions(self, part: Part, links: Links) -> set[Occurrence]:
        """Find the unions in a part's annotations; returns the names in them, which keep nothing by themselves."""
        module = part.module
        weak: set[Occurrence] = set()
        for node in hints.every(part.node):
            members = hints.members(node)
            if len(members) < 2 or self.rewrites[module.name].is_dead(module.source.start(node)):
                continue
            union = Union(node, [])  # type: ignore[arg-type]  # more than one member: a BinOp
            for member in members:
                variables = set()
                for child in trees.nodes(member):
                    occurrence = module.by_node.get(child)
                    reference = self.bindings.of(module, occurrence) if occurrence else None
                    if occurrence and reference and isinstance(reference.meaning, Variable):
                        variables.add(reference.meaning)
                        weak.add(occurrence)
                union.members.append((member, variables))
            if any(variables for _, variables in union.members):
                links.unions.append(union)
        return weak

    def forget(self, part: Part) -> None:
        """Link a part anew when it is next asked for."""
        self._links.pop(part, None)

    def check_store(self, module: Module, occurrence: Occurrence, attributes: int, links: Links) -> None:
        """Assigning into another module is refused."""
        node = occurrence.attributes[attributes - 1]
        if not isinstance(node.ctx, ast.Load):
            message = f"`{ast.unparse(node)}` is assigned from another module"
            links.problems.append(
                module.problem(
                    occurrence.start,
                    "BLD018",
                    message,
                    "assign it in its own module, in a function that is called from here",
                )
            )

    def refuse(self, module: Module, occurrence: Occurrence, meaning: object) -> Problem:
        """What is wrong with an occurrence that stands for a module or for nothing."""
        if isinstance(meaning, Missing):
            return self.missing(module, occurrence.start, meaning)
        assert isinstance(meaning, InPackage)
        asked = paths_by_getattr(module.parts[occurrence.part].node) if "attr(" in module.source.text else {}
        subject = occurrence.attributes[-1] if occurrence.attributes else occurrence.node
        if subject in asked:
            name, call = asked[subject]
            text = ast.unparse(call)
            if text.startswith(("setattr", "delattr")):
                message = f"`{text}` assigns into the module {meaning.module}"
                remedy = "assign it in its own module, in a function that is called from here"
                return module.problem(occurrence.start, "BLD018", message, remedy)
            if name:
                message = f"`{text}` asks the module {meaning.module} by a string"
                remedy = f"write `{ast.unparse(subject)}.{name}`: in one file there is no module object"
            else:
                message = f"`{text}` asks the module {meaning.module} for a name that is known only at run time"
                remedy = "look it up in a dictionary that you write down: {'name': module.name, ...}"
            return module.problem(occurrence.start, "BLD013", message, remedy)
        message = f"the module {meaning.module} is used as a value"
        return module.problem(
            occurrence.start, "BLD013", message, "name what you need of it: in one file there is no module object"
        )

    def check_import(self, module: Module, found: Import) -> list[Problem]:
        """What is wrong with an import statement."""
        start = module.source.start(found.statement)
        if found.alias.name == "*":
            if isinstance(found.target, External):
                message = f"`from {found.target.module} import *` takes names that only running it would show"
                return [module.problem(start, "BLD016", message, "import the names that are used")]
            target = found.target.module
            self.bindings.exported(self.program.modules[target])
            if target in self.bindings.computed:
                home = self.program.modules[target]
                line = home.source.line(home.source.start(self.bindings.computed[target]))
                message = f"`from {target} import *`: only running {home.source.name}:{line} would show what that takes"
                return [module.problem(start, "BLD016", message, "write `__all__` as a list, or import by name")]
            if not found.direct:
                return [
                    module.problem(start, "BLD016", "a star import inside a block", "move it to the top of the module")
                ]
            return self.check_star(module, found, start)
        meaning = self.bindings.target(found.target, found.bound)
        return [self.missing(module, start, meaning)] if isinstance(meaning, Missing) else []

    def check_star(self, module: Module, found: Import, start: int) -> list[Problem]:
        """Names that a star import must copy, and that cannot be copied; modules that it takes along."""
        problems = []
        for name in self.taken_modules(module, found):
            message = f"this star import gives `{name}` as well, the module, once anything has imported it"
            remedy = "give one of the two another name, or import by name"
            problems.append(module.problem(start, "BLD016", message, remedy))
        for name, meaning in self.given_by_star(module, found):
            if isinstance(meaning, InPackage):
                message = f"`{name}` comes from this star import as a module, and is bound here to something else too"
                problems.append(module.problem(start, "BLD013", message, f"import what is needed of {meaning.module}"))
            elif isinstance(meaning, Variable) and self.bindings.at_end(meaning) is None:
                message = f"`{name}` comes from this star import only if {meaning.module} has bound it by then"
                remedy = "bind it on every path there, or import it by name"
                problems.append(module.problem(start, "BLD016", message, remedy))
        return problems

    def taken_modules(self, module: Module, found: Import) -> list[str]:
        """Modules that a star import of their package takes along, and whose names mean something else here."""
        home = self.program.modules[found.target.module] if isinstance(found.target, Member) else module
        if not home.is_package or self.bindings.declared(home) is not None:
            return []
        inner = [name.rpartition(".") for name in self.program.modules if name.startswith(f"{home.name}.")]
        names = [stem for package, _, stem in inner if package == home.name and stem not in home.scope.bound]
        named = {o.name for o in module.scope.occurrences if o.home() is module.scope}
        named |= set(self.bindings.givers(module))
        return [name for name in names if not name.startswith("_") and name in named]

    def missing(self, module: Module, start: int, meaning: Missing) -> Problem:
        """A name that its module does not define."""
        if meaning.name.startswith("__") and meaning.name.endswith("__"):
            message = f"`{meaning.name}` of the module {meaning.module}: in one file there is no module object"
            return module.problem(start, "BLD023", message, "write the value that you need")
        message = f"{meaning.module} defines no `{meaning.name}`"
        if "__getattr__" in self.program.modules[meaning.module].scope.bound:
            message += ": its `__getattr__` answers for a module that the artifact does not have"
        return module.problem(start, "BLD010", message, "correct the name, or define it in that module")


def is_main_block(node: ast.stmt) -> bool:
    """Whether a statement is `if __name__ == "__main__":`."""
    match node:
        case ast.If(
            test=ast.Compare(left=ast.Name(id="__name__"), ops=[ast.Eq()], comparators=[ast.Constant(value="__main__")])
        ):
            return True
        case ast.If(
            test=ast.Compare(left=ast.Constant(value="__main__"), ops=[ast.Eq()], comparators=[ast.Name(id="__name__")])
        ):
            return True
    return False


def paths_by_getattr(node: ast.AST) -> dict[ast.AST, tuple[str, ast.Call]]:
    """`getattr(X, "name")` and the like by the node of X, with the name: "" where it is known only at run time."""
    found: dict[ast.AST, tuple[str, ast.Call]] = {}
    for call in trees.nodes(node):
        match call:
            case ast.Call(func=ast.Name(id=function), args=[ast.Name() | ast.Attribute() as subject, name, *_]) if (
                function in ATTRIBUTE_CALLS
            ):
                literal = name.value if isinstance(name, ast.Constant) and isinstance(name.value, str) else ""
                found[subject] = (literal, call)
    return found
