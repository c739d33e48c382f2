"""Imports that may fail: which packages the contest's machine lacks, which modules of the recipe cannot be imported
there, and what an import in a `try` therefore does.

    try:
        import turbo          # the machine lacks it: fails there, always, so the handler runs; the build says so
    except ImportError:
        turbo = None

An import of a package that the machine has, in a `try` that passes its failure over, is refused (forbid): which way the
program goes would show only when it runs.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from builder import trees
from builder.bindings import Bindings
from builder.edits import Edit
from builder.effects import Effects
from builder.rewrite import Rewrite
from builder.scan import External, Import, Module, Program, catches_import_error
from builder.settings import Settings
from builder.source import inner_statements
from builder.versions import STANDARD, absent, version


def is_standard(name: str) -> bool:
    """Whether a module is of the standard library."""
    return name.split(".")[0] in STANDARD


def lacks(settings: Settings, path: str) -> str:
    """Why an import of a module, or of a name in one, fails on the contest's machine; "" where it does not."""
    machine, top = settings.profile.machine, path.split(".")[0]
    if is_standard(path):
        came = absent(path, version(machine.python))
        return f"{came}, and the contest's machine has {machine.python}" if came else ""
    return "" if top in machine.packages else f"the contest's machine has no package `{top}`"


class Availability:
    """Answers for one program."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.settings = program.settings
        self._failing: dict[str, str | None] = {}

    def failing(self, module: str) -> str | None:
        """The package for want of which a module of the recipe cannot be imported on the contest's machine."""
        if module not in self._failing:
            self._failing[module] = None  # while looking: a circle fails for a reason outside of it
            found = self.program.modules.get(module)
            imports = found.imports if found else []
            reasons = (self.fails(item) for item in imports if item.direct and not item.typing)
            self._failing[module] = next((reason for reason in reasons if reason), None)
        return self._failing[module]

    def fails(self, found: Import) -> str | None:
        """The package for want of which an import fails on the contest's machine, or None."""
        if isinstance(found.target, External):
            return found.target.module.split(".")[0] if lacks(self.settings, found.target.path) else None
        return next((reason for reason in map(self.failing, found.runs) if reason), None)

    def is_sure(self, found: Import) -> bool:
        """Whether an import succeeds on every machine with the contest's Python: a module of the recipe, or a whole
        module of the standard library.
        """
        if isinstance(found.target, External):
            standard = found.target.name is None and is_standard(found.target.module)
            return standard and not lacks(self.settings, found.target.module)
        return self.fails(found) is None

    def is_spare(self, module: Module, found: Import) -> bool:
        """Whether an import stands in for others that are sure to succeed, and so never runs."""
        tried = [item for item in module.imports if found.spare is not None and item.part == found.part]
        body = {node for statement in getattr(found.spare, "body", []) for node in trees.nodes(statement)}
        tried = [item for item in tried if item.statement in body]
        return bool(tried) and all(map(self.is_sure, tried))

    def caught(self) -> list[tuple[Module, Import, str]]:
        """Imports that fail on the contest's machine where the program catches that, each with the package missed."""
        return [
            (module, found, reason)
            for module in self.program.modules.values()
            for found in module.imports
            if found.caught and not found.typing and (reason := self.fails(found))
        ]


def is_caught(part: ast.stmt, node: ast.AST) -> bool:
    """Whether something around an expression catches a failing import."""
    found = False

    def walk(statement: ast.AST, caught: bool) -> None:
        nonlocal found
        found = found or (caught and any(child is node for child in trees.nodes(statement)))
        for child in inner_statements(statement):
            tried = isinstance(statement, (ast.Try, ast.TryStar)) and child in statement.body
            handled = tried and any(map(catches_import_error, getattr(statement, "handlers", [])))
            walk(child, not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)) and (caught or handled))

    walk(part, False)
    return found


Written = list[
    tuple[Module, ast.stmt, ast.Import | ast.ImportFrom]
]  # a statement of a module, and what takes its place


def replace_failing(program: Program) -> Written:
    """Let an import of a recipe's module that cannot be imported on the contest's machine fail the way it does in the
    recipe, for want of the package:

        from .diagram import draw   ->   from railroad import draw
    """
    availability = Availability(program)
    caught = [(module, found, reason) for module, found, reason in availability.caught() if found.runs]
    if not caught:
        return []
    effects = Effects(Bindings(program), STANDARD)
    written: Written = []
    for module, found, reason in caught:
        statement = found.statement
        if any(old is statement for _, old, _ in written) or not all(
            _quiet(availability, effects, r, set()) for r in _others(module, found)
        ):
            continue
        names = [ast.alias(alias.name, alias.asname) for alias in statement.names]
        if isinstance(statement, ast.ImportFrom):
            written.append((module, statement, ast.ImportFrom(reason, names, 0)))
        else:
            bound = [ast.alias(reason, alias.asname or alias.name.split(".")[0]) for alias in names]
            written.append((module, statement, ast.Import(bound)))
    gone = {statement for _, statement, _ in written}
    for module in program.modules.values():
        module.imports = [found for found in module.imports if found.statement not in gone]
        for part in module.parts:
            part.imports = [found for found in part.imports if found.statement not in gone]
    return written


def _others(module: Module, found: Import) -> list[str]:
    """The modules that an import runs, without those that are running since they contain the importing one."""
    return [run for run in found.runs if not f"{module.name}.".startswith(f"{run}.")]


def _quiet(availability: Availability, effects: Effects, name: str, seen: set[str]) -> bool:
    """Whether nothing has happened by the time that a module's import fails; `seen`: modules that are running."""
    if name in seen:
        return True
    seen.add(name)
    module = availability.program.modules[name]
    for part in module.parts:
        for found in part.imports:
            if found.direct and not found.typing and availability.fails(found):
                return all(_quiet(availability, effects, run, seen) for run in found.runs)
        runs = {run for found in part.imports if not found.typing for run in found.runs}
        runs = {run for run in runs if not f"{name}.".startswith(f"{run}.")}  # all but what contains this module
        if effects.statement(part.node, module) or runs:
            return False
    return True


def write_failing(written: Written, rewrites: dict[str, Rewrite]) -> None:
    """Enter what took the place of failing imports into the rewrites."""
    for module, statement, replacement in written:
        rewrite = rewrites[module.name]
        if not rewrite.is_dead(module.source.start(statement)):
            rewrite.statements[statement] = [replacement]
            edit = Edit(module.source.start(statement), module.source.end(statement), (ast.unparse(replacement),))
            rewrite.edits.append(edit)


def missed_imports(settings: Settings, written: Written, places: Iterable[tuple[str, int] | None]) -> list[str]:
    """What a build warns of: replaced imports in code that the artifact has."""
    lines = {place for place in places if place is not None}
    found = []
    for module, statement, replacement in written:
        place = (module.source.name, module.source.line(module.source.start(statement)))
        reason = replacement.module if isinstance(replacement, ast.ImportFrom) else replacement.names[0].name
        if place in lines:
            why = lacks(settings, str(reason)) or f"`{reason}` of the contest's Python lacks what it needs"
            found.append(missed(*place, why))
    return found


def missed(file: str, line: int, why: str) -> str:
    """The warning of an import that fails where the program catches it."""
    return f"{file}:{line}: {why}: this import fails there, and the code that catches it runs"
