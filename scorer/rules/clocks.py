"""Checks of how a training loop ends, and of how it reads the clock."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

from scorer.artifact import Artifact
from scorer.contest import Profile
from scorer.rules.numerals import number, plain
from scorer.rules.reach import reach
from scorer.rules.scopes import scopes
from scorer.rules.source import Hit, Source

CLOCKS = {
    *("time.time", "time.monotonic", "time.perf_counter", "time.process_time", "time.time_ns", "time.monotonic_ns"),
    *("time.perf_counter_ns", "datetime.datetime.now", "datetime.datetime.utcnow"),
}
WAITS = {"item", "synchronize", "cpu", "tolist", "numpy", "barrier", "wait", "mark_step", "wait_device_ops", "is_set"}
Loop = ast.For | ast.While


def steps_alone(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """A training loop that no clock ends (T4)."""
    for loop, nodes in training_loops(source):
        if not any(isinstance(n, ast.Call) and source.resolve(n.func) in CLOCKS for n in nodes):
            yield Hit(loop.lineno)


def clock_without_waiting(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """A clock that is read in a training loop which never waits for the device (T7)."""
    for loop, nodes in training_loops(source):
        calls = [n for n in nodes if isinstance(n, ast.Call)]
        reads = [call for call in calls if source.resolve(call.func) in CLOCKS]
        # A save waits, too, but only once in many updates.
        saving = {id(n) for top in reach(source).called_from(loop) if _saves(source, top) for n in source.walk(top)}
        if reads and not any(_waits(source, call) for call in calls if id(call) not in saving):
            yield Hit(reads[0].lineno, {"TEXT": ast.unparse(reads[0])})


def _saves(source: Source, top: ast.AST) -> bool:
    return any(isinstance(n, ast.Call) and source.resolve(n.func) == "torch.save" for n in source.walk(top))


def _waits(source: Source, call: ast.Call) -> bool:
    if isinstance(call.func, ast.Attribute) and call.func.attr in WAITS:
        return True
    return (
        source.resolve(call.func) == "builtins.float" and bool(call.args) and not isinstance(call.args[0], ast.Constant)
    )


@lru_cache(maxsize=1)
def training_loops(source: Source) -> list[tuple[Loop, list[ast.AST]]]:
    """Every outermost loop that takes gradients, with all nodes that run in it, in functions of the file too."""
    table = reach(source)
    loops = [n for n in source.every(ast.For, ast.While) if table.trains(n)]
    run = {id(loop): [n for top in (loop, *table.called_from(loop)) for n in source.walk(top)] for loop in loops}
    inner = {id(n) for loop in loops for n in run[id(loop)] if n is not loop}
    return [(loop, run[id(loop)]) for loop in loops if id(loop) not in inner]  # not those over micro batches


def small_reserve(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """A reserve for the end of the run that is smaller than others have found necessary (T5)."""
    table, least = scopes(source), profile.budget.reserve_seconds
    places = [(name, b) for (_, name), bound in table.bindings.items() for b in bound]
    places += [(name, b) for name, held in table.members.items() for b in held.values]
    for name, binding in places:
        if name.upper() in profile.review.reserve_constants and binding.whole and isinstance(binding.value, ast.expr):
            value = number(source, binding.value)
            if value is not None and value < least:
                line = getattr(binding.node, "lineno", 1)
                yield Hit(line, {"NAME": name, "VALUE": plain(value), "LEAST": f"{least:g}"})
