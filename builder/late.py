"""Modules that Python runs only when a function or a block imports them, and that must not run before: because they do
something, read what may have changed by then, or import a package that nothing else does.

What of such a module can be noticed goes into a function of its own, which runs once; the rest (functions, classes,
constants) stands at the top level as ever. Each import of the module becomes a call:

    def work():                             def work():
        from .plots import draw                 import_plots()
        draw()                                  draw()
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from builder.availability import is_standard
from builder.bindings import Bindings, Outside, Variable
from builder.edits import Edit
from builder.effects import Effects
from builder.errors import Problem
from builder.link import Linker, is_main_block
from builder.rewrite import Rewrite
from builder.scan import External, Import, Module, Part, Program
from builder.scopes import Occurrence
from builder.source import inner_statements
from builder.versions import STANDARD

# Modules of the standard library that not every platform has, and those that differ in their names.
ONLY_SOMEWHERE = frozenset(
    [
        "_posixsubprocess",
        "_scproxy",
        "_winapi",
        "crypt",
        "curses",
        "fcntl",
        "grp",
        "msvcrt",
        "nis",
        "nt",
        "ossaudiodev",
        "posix",
        "pty",
        "pwd",
        "readline",
        "resource",
        "spwd",
        "syslog",
        "termios",
        "tty",
        "winreg",
        "winsound",
    ]
)
NAMES_ONLY_SOMEWHERE = frozenset(
    [
        "asyncio",
        "ctypes",
        "errno",
        "locale",
        "mmap",
        "multiprocessing",
        "os",
        "select",
        "signal",
        "socket",
        "ssl",
        "subprocess",
        "sys",
        "time",
    ]
)


class Late:
    """Finds them before freezing (`candidates`, of which freezing may leave fewer), and what of them runs late."""

    def __init__(self, program: Program, bindings: Bindings) -> None:
        self.program = program
        self.bindings = bindings
        self.effects = Effects(bindings, STANDARD)
        self.linker: Linker | None = None  # once there is one
        self._reached: dict[str, set[str]] = {}
        self.modules: set[str] = set()  # that Python runs late, if at all
        self.early: set[str] = set()
        parts = program.settings.entry.split(".")
        for i in range(len(parts)):
            self.walk(".".join(parts[: i + 1]), False)
        self.modules |= set(program.modules) - self.early
        self.packages = {
            found.target.module.split(".")[0]
            for name in self.early
            for found in program.modules[name].imports
            if found.direct and not found.typing and isinstance(found.target, External)
        }
        self.targets = {
            found.target
            for name in self.early
            for found in program.modules[name].imports
            if found.direct and not found.typing
        }
        self.candidates = self.closed({name for name in self.modules if any(map(self.waits, self.parts(name)))})
        self.inside: dict[Part, None] = {}  # parts that run late, once `settle` has chosen them
        self.imports: set[Import] = set()  # imports from outside among them
        self.running: set[str] = set()  # the modules that they are of, and those that run one of those

    def walk(self, name: str, late: bool) -> None:
        """Follow imports in the order in which Python runs them."""
        module = self.program.modules.get(name)
        if module is None or name in self.early or name in self.modules:
            return
        (self.modules if late else self.early).add(name)
        for part in self.parts(name):
            for found in part.imports:
                if not found.scope.deferred and not found.typing:
                    for run in found.runs:
                        self.walk(run, late or not found.direct)

    def reaches(self, name: str, other: str) -> bool:
        """Whether importing one module runs another."""
        if name not in self._reached:
            seen: set[str] = set()
            waiting = [name]
            while waiting:
                module = self.program.modules.get(waiting.pop())
                if module is not None and module.name not in seen:
                    seen.add(module.name)
                    imports = [f for f in module.imports if not f.scope.deferred and not f.typing]
                    waiting += [run for found in imports for run in found.runs]
            self._reached[name] = seen
        return other in self._reached[name]

    def parts(self, name: str) -> list[Part]:
        """The parts of a module that run when it is imported."""
        module = self.program.modules[name]
        return [p for p in module.parts if module is self.program.entry or not is_main_block(p.node)]

    def closed(self, names: set[str]) -> set[str]:
        """These late modules, and those that run one of them when they are imported."""
        grown = set(names)
        while True:
            more = {name for name in self.modules - grown if any(self.runs_now(p, grown) for p in self.parts(name))}
            if not more:
                return grown
            grown |= more

    def runs_now(self, part: Part, names: set[str]) -> bool:
        """Whether a part imports one of these modules when it runs."""
        return any(
            not names.isdisjoint(self.runs(part.module, found))
            for found in part.imports
            if not found.scope.deferred and not found.typing and not self.is_dead(part.module, found)
        )

    def is_dead(self, module: Module, found: Import) -> bool:
        """Whether freezing removed an import."""
        return self.linker is not None and self.linker.is_dead(module, found.statement)

    def runs(self, module: Module, found: Import) -> list[str]:
        """The modules that an import may run: those that are not running already, since they contain this one."""
        return [run for run in found.runs if run != module.name and not module.name.startswith(f"{run}.")]

    def waits(self, part: Part) -> bool:
        """Whether a part must not run before its time."""
        if self.effects.statement(part.node, part.module) or any(map(self.is_inside_import, part.imports)):
            return True
        return any(not self.effects.settled(variable) for variable in self.reads(part))

    def is_inside_import(self, found: Import) -> bool:
        """Whether an import is of a package that nothing imports early, or of what not every platform has."""
        if not isinstance(found.target, External) or found.scope.deferred or found.typing:
            return False
        module = found.target.module
        if not is_standard(module):
            return module.split(".")[0] not in self.packages
        names = ONLY_SOMEWHERE if found.target.name is None else ONLY_SOMEWHERE | NAMES_ONLY_SOMEWHERE
        return module.split(".")[0] in names and found.target not in self.targets

    def reads(self, part: Part) -> Iterator[Variable]:
        """The variables that a part reads while it runs."""
        for meaning in self.meanings(part):
            if isinstance(meaning, Variable):
                yield meaning

    def meanings(self, part: Part) -> Iterator[object]:
        """What a part refers to while it runs."""
        strings = "annotations" in part.module.future
        for occurrence in part.module.by_part.get(part.index, []):
            if occurrence.kind in ("load", "delete") and not occurrence.scope.deferred:
                reference = self.bindings.of(part.module, occurrence)
                if reference is not None and not (occurrence.annotation and strings):
                    yield reference.meaning

    def is_site(self, module: Module, node: ast.stmt) -> bool:
        """Whether an import statement may have to run a module late."""
        return any(
            found.statement is node and not self.candidates.isdisjoint(self.runs(module, found))
            for found in module.imports
        )

    # After shaking

    def settle(self, linker: Linker, kept: set[Part], executed: set[str]) -> set[Part]:
        """Choose what runs late of the kept parts, of modules that run at all. Returns it, and the import statements
        that run it.
        """
        self.linker = linker
        self.inside, self.imports, self.running = {}, set(), set()
        started = self.candidates & executed
        if not started:
            return set()
        bound: set[object] = set()  # by what runs late
        ready: set[object] = set()
        for part in linker.order:
            if part.module.name not in started:
                ready |= {Variable(part.module.name, o.name) for o in bound_names(linker, part)}
                continue
            wanted = [found for found in part.imports if found.direct and self.is_inside_import(found)]
            if wanted:
                self.inside[part] = None
                self.imports.update(wanted)
                targets = [(found.bound, found.target) for found in wanted]
                bound |= {Outside(name, t.module, t.name) for name, t in targets if isinstance(t, External)}
                continue
            found = {Variable(part.module.name, o.name) for o in bound_names(linker, part)}
            needed = set(self.meanings(part))
            early = not self.waits(part) and needed.isdisjoint(bound)
            if part in kept and not (early and all(m in ready for m in needed if isinstance(m, Variable))):
                self.inside[part] = None
                bound |= found
            else:
                ready |= found
        self.running = self.closed({part.module.name for part in self.inside}) & executed
        running = [part for part in linker.order if self.runs_now(part, self.running)]
        self.inside.update(dict.fromkeys(part for part in running if part.module.name in self.running))
        return {*running, *self.inside}

    def calls(self, module: Module, statement: ast.stmt) -> list[str]:
        """The late modules that an import statement runs, in order."""
        found = [item for item in module.imports if item.statement is statement and not item.typing]
        runs = dict.fromkeys(run for item in found for run in self.runs(module, item))
        return [run for run in runs if run in self.running]

    def circles(self) -> Iterator[Problem]:
        """Late modules that import each other: which of them Python runs first depends on the run."""
        for name in sorted(self.running):
            module = self.program.modules[name]
            for part in self.parts(name):
                for found in part.imports:
                    runs = [run for run in self.runs(module, found) if run in self.running]
                    if found.scope.deferred or found.typing or self.is_dead(module, found):
                        continue
                    if any(name in self.closed_over(run) for run in runs):
                        message = f"{name} runs only when a function imports it, and this import leads back to it"
                        start = module.source.start(found.statement)
                        yield module.problem(start, "BLD019", message, "import it at the top of the module")

    def closed_over(self, name: str) -> set[str]:
        """The late modules that importing one of them runs, itself included."""
        seen: set[str] = set()
        waiting = [name]
        while waiting:
            current = waiting.pop()
            if current in seen:
                continue
            seen.add(current)
            module = self.program.modules[current]
            for part in self.parts(current):
                for found in part.imports:
                    if not found.scope.deferred and not found.typing and not self.is_dead(module, found):
                        waiting += [run for run in self.runs(module, found) if run in self.running]
        return seen

    def write(self, rewrites: dict[str, Rewrite]) -> list[Problem]:
        """A variable declared `global` takes no annotation: write plain assignments in the parts that run late."""
        problems = list(self.circles())
        for part in self.inside:
            module, rewrite, source = part.module, rewrites[part.module.name], part.module.source
            for node in _annotated(part.node):
                if node.value is None or node in rewrite.statements or not isinstance(node.target, ast.Name):
                    message = f"{module.name} runs only when a function imports it, with this annotation"
                    remedy = "take the annotation away, or import the module at the top"
                    problems.append(module.problem(source.start(node), "BLD019", message, remedy))
                    continue
                rewrite.statements[node] = [ast.Assign([node.target], node.value)]
                rewrite.edits.append(Edit(source.end(node.target), source.start(node.value), (" = ",)))
                rewrite.kill(source.end(node.target), source.start(node.value))
        return problems


def bound_names(linker: Linker, part: Part) -> list[Occurrence]:
    """Where a part binds variables of its module while it runs."""
    kinds = ("store", "definition", "import", "delete")
    found = linker.live(part)
    return [o for o in found if o.kind in kinds and not o.scope.deferred and o.home() is part.module.scope]


def _annotated(node: ast.stmt) -> list[ast.AnnAssign]:
    """The annotated assignments to variables of the module in a part."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return []
    found = [node] if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) else []
    return found + [inner for child in inner_statements(node) for inner in _annotated(child)]  # type: ignore[arg-type]
