"""Checks of how a kernel is told on how many cores it runs: by its grid, by an argument, and by the launch string."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from scorer.artifact import Artifact
from scorer.contest import Profile
from scorer.rules.kernels import kernels
from scorer.rules.numerals import Number, number
from scorer.rules.scopes import scopes
from scorer.rules.source import Function, Hit, Source

# Parameters of kernels that say over how many programs of the grid the work is shared.
COUNTS = {
    *("lanes", "n_lanes", "num_lanes", "lnc", "grid", "grid_size", "cores", "num_cores", "n_cores", "programs"),
    *("n_programs", "num_programs", "n_prgs", "num_prgs"),
}


@dataclass(frozen=True)
class Launch:
    """One launch of a kernel: its grid, None where it has none, and the argument that repeats it."""

    call: ast.Call
    grid: ast.expr | None
    name: str
    given: ast.expr | None


def grids_that_differ(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """A grid and an argument, or the launch string, that are different numbers."""
    cores = _cores(artifact, profile)
    for launch in _launches(source):
        grid = _size(source, launch.grid)
        given = number(source, launch.given)
        if launch.given is not None and grid is not None and given is not None and grid != given:
            yield _hit(launch, f"{launch.name}={given}", f"a grid of {grid}")
        elif cores is not None and grid is not None and grid > cores:
            yield _hit(launch, f"a grid of {grid}", f"{cores} cores for one rank by the launch string")


def grids_that_can_differ(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """A grid and an argument that are written as two things; a grid that leaves cores of the launch without work."""
    cores = _cores(artifact, profile)
    for launch in _launches(source):
        grid = _size(source, launch.grid)
        known = grid is not None and number(source, launch.given) is not None
        if launch.given is not None and not known and _origin(source, launch.grid) != _origin(source, launch.given):
            written = ast.unparse(launch.grid) if launch.grid is not None else "1, as none is given"
            yield _hit(launch, f"{launch.name}={ast.unparse(launch.given)}", f"the grid, {written}")
        elif (
            launch.given is None and cores is not None and launch.grid is not None and grid is not None and grid < cores
        ):
            yield _hit(launch, f"a grid of {grid}", f"{cores} cores for one rank by the launch string")


def _hit(launch: Launch, found: str, other: str) -> Hit:
    return Hit(launch.call.lineno, {"FOUND": found, "OTHER": other})


def _cores(artifact: Artifact, profile: Profile) -> int | None:
    """How many cores the launch string gives one rank."""
    value = profile.launch.variables(artifact.launch_command).get(profile.review.grid_variable or "", "")
    return int(value) if value.isdecimal() else None


def _launches(source: Source) -> Iterator[Launch]:
    table = kernels(source)
    if not table.exist:
        return
    for node in source.every(ast.Call):
        if id(node) in table.inside_kernels:
            continue
        callee = node.func
        grid: ast.expr | None = None
        if isinstance(callee, ast.Subscript):
            grid, callee = callee.slice, callee.value
        if grid is None and not table.is_kernel(callee):
            continue
        if not table.carried(callee) or (isinstance(grid, ast.Constant) and isinstance(grid.value, str)):
            continue
        repeated = _repeated(source, table.definition(callee), node)
        if grid is not None or repeated is not None:
            yield Launch(node, grid, *(repeated or ("", None)))


def _repeated(source: Source, kernel: Function | None, call: ast.Call) -> tuple[str, ast.expr] | None:
    """The argument of a launch that says on how many programs it runs."""
    for keyword in call.keywords:
        if keyword.arg in COUNTS:
            return keyword.arg, keyword.value
    names = [a.arg for a in kernel.args.args] if kernel is not None else []
    for name, value in zip(names, call.args, strict=False):
        if name in COUNTS:
            return name, value
    return None


def _size(source: Source, grid: ast.expr | None) -> Number | None:
    """How many programs a grid has; a launch without one has one."""
    if grid is None:
        return 1
    if isinstance(grid, ast.Tuple):
        sizes = [number(source, element) for element in grid.elts]
        product: Number = 1
        for size in sizes:
            if size is None:
                return None
            product *= size
        return product
    return number(source, grid)


def _origin(source: Source, node: ast.expr | None) -> str:
    """What an expression is written as, through variables that are bound once."""
    for _ in range(4):
        bound = scopes(source).of(node.id, node) if isinstance(node, ast.Name) else []
        if len(bound) != 1 or not isinstance(bound[0].value, ast.expr) or not bound[0].whole:
            break
        node = bound[0].value
    if isinstance(node, ast.Tuple) and len(node.elts) == 1:
        return _origin(source, node.elts[0])
    return ast.unparse(node) if node is not None else "1"
