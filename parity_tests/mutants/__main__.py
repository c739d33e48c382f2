"""`python -m parity_tests.mutants [--count N] [--seed N] [--jobs N] [NAMES]`: mutants of the recipe, each to be killed.

NAMES are parts of `file:line:mutator`. Exit code 0 only if every mutant that runs is killed, or equivalent for a reason
that is told.
"""

from __future__ import annotations

import argparse
import collections
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from rich.console import Console
from rich.table import Table

from parity_tests.mutants import listed
from parity_tests.mutants.places import Mutant, candidates, sample
from parity_tests.mutants.running import Clean, Result, try_out
from scorer.room.cleanroom import guard

Tried = tuple[Mutant, Result]


def main() -> int:
    """Try mutants until `--count` of them were killed or survived; print one line each, then the totals."""
    parser = argparse.ArgumentParser(prog="python -m parity_tests.mutants", description=__doc__)
    parser.add_argument("names", nargs="*", help="try every mutant whose file:line:mutator holds one of these")
    parser.add_argument("--count", type=int, default=220, help="mutants that run and are not equivalent (default: 220)")
    parser.add_argument("--seed", type=int, default=0, help="which ones (default: 0)")
    parser.add_argument("--jobs", type=int, default=2, help="how many runs beside each other (default: 2)")
    chosen = parser.parse_args()
    console = Console(width=None if sys.stdout.isatty() else 160, emoji=False)
    began = time.monotonic()
    tried: list[Tried] = []
    with guard(), tempfile.TemporaryDirectory(prefix="mutants-") as directory:
        clean = Clean(Path(directory))
        every = candidates(clean.places)
        wanted = [m for m in every if any(name in m.name for name in chosen.names)] if chosen.names else every
        if not wanted:
            parser.error(f"no mutant is named {' or '.join(chosen.names)}; names look like {every[0].name}")
        console.print(f"{len(every)} mutants, the clean run has no finding ({time.monotonic() - began:.0f} s)")
        count = len(wanted) if chosen.names else chosen.count
        for mutant, result in _tried(clean, sample(wanted, chosen.seed), chosen.jobs):
            tried.append((mutant, result))
            living = sum(one.fate in ("killed", "survived") for _, one in tried)
            console.print(f"{living}/{count} {_told(mutant, result)}", markup=False, highlight=False, soft_wrap=True)
            if living >= count:
                break
    survivors = _summary(console, tried, time.monotonic() - began)
    return 1 if survivors else 0


def _tried(clean: Clean, mutants: Sequence[Mutant], jobs: int) -> Iterator[Tried]:
    """Results in the order of the mutants, a few runs ahead of it; what was begun is waited for."""
    with ThreadPoolExecutor(jobs) as workers:
        running: collections.deque[tuple[Mutant, Future[Result]]] = collections.deque()
        for mutant in mutants:
            running.append((mutant, workers.submit(try_out, clean, mutant, listed.reason(mutant))))
            if len(running) > jobs:
                first, future = running.popleft()
                yield first, future.result()
        while running:
            first, future = running.popleft()
            yield first, future.result()


def _told(mutant: Mutant, result: Result) -> str:
    place = {(True, True): "line", (False, True): "function", (False, False): "elsewhere"}[
        result.on_line, result.in_function
    ]
    where = f" [{place}]" if result.fate == "killed" else ""
    change = f"`{mutant.before}` -> `{mutant.after}`"
    return f"{result.fate}{where} {mutant.name} {change}: {result.said[:300]} ({result.seconds:.0f} s)"


def _summary(console: Console, tried: Sequence[Tried], seconds: float) -> list[Mutant]:
    """Print the totals; returns the survivors."""
    for title, key in (("mutator", lambda m: m.mutator), ("file", lambda m: m.file)):
        table = Table(title, "killed / total", "place: line", "place: function", "equivalent", "stillborn")
        for name in sorted({key(mutant) for mutant, _ in tried}):
            _row(table, name, [result for mutant, result in tried if key(mutant) == name])
        _row(table, "all", [result for _, result in tried])
        console.print(table)
    codes = collections.Counter(result.code for _, result in tried if result.code is not None)
    console.print("killed by: " + ", ".join(f"{code} {count}" for code, count in codes.most_common()), highlight=False)
    reasons = collections.Counter(result.said for _, result in tried if result.fate == "equivalent")
    for reason, count in reasons.most_common():
        console.print(f"equivalent, {count}: {reason}", markup=False, highlight=False)
    survivors = [mutant for mutant, result in tried if result.fate == "survived"]
    for mutant in survivors:
        text = f"SURVIVED {mutant.name} `{mutant.before}` -> `{mutant.after}`"
        console.print(text, markup=False, highlight=False, soft_wrap=True)
    killed = sum(result.fate == "killed" for _, result in tried)
    right = sum(result.in_function for _, result in tried)
    console.print(
        f"{killed} of {killed + len(survivors)} killed, {right} of those at their place, {sum(reasons.values())} "
        f"equivalent, {sum(result.fate == 'stillborn' for _, result in tried)} did not run, {seconds:.0f} s",
        highlight=False,
    )  # fmt: skip
    return survivors


def _row(table: Table, name: str, results: Sequence[Result]) -> None:
    fates = collections.Counter(result.fate for result in results)
    living = fates["killed"] + fates["survived"]
    lines, functions = sum(r.on_line for r in results), sum(r.in_function for r in results)
    table.add_row(
        name, f"{fates['killed']} / {living}", str(lines), str(functions), str(fates["equivalent"]),
        str(fates["stillborn"]),
    )  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
