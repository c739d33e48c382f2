"""`python -m parity_tests.faults [ID ...] [--clean N]`: run faults end to end, and N clean recipes on other machines.

Exit code 0 only if every fault raised its finding first, at its place, and no clean run raised any.
"""

from __future__ import annotations

import argparse
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from rich.console import Console
from rich.table import Table

from parity_tests.faults.clean import run_clean
from parity_tests.faults.run import FAULTS, Fault, Result, run_fault


def main() -> int:
    """Run, print one line per fault as it ends, then the totals."""
    parser = argparse.ArgumentParser(prog="python -m parity_tests.faults", description=__doc__)
    parser.add_argument("ids", nargs="*", help="fault folders, by name or by the row they stand for; default: all")
    parser.add_argument("--clean", type=int, default=None, help="clean runs (default: 20 when all faults run, else 0)")
    parser.add_argument(
        "--each-code", action="store_true", help="only the first folder for each expected finding, none by stopwatch"
    )
    parser.add_argument("--jobs", type=int, default=2, help="how many runs beside each other (default: 2)")
    chosen = parser.parse_args()
    folders = sorted(p for p in FAULTS.iterdir() if (p / "fault.yaml").is_file())
    if chosen.ids:
        folders = [p for p in folders if p.name in chosen.ids or p.name.split("-")[0] in chosen.ids]
        if not folders:
            parser.error(f"no fault folder is named {' or '.join(chosen.ids)}; see {FAULTS.name}/")
    faults = {folder: Fault.read(folder) for folder in folders}
    if chosen.each_code:
        # What a stopwatch decides is decided on a quiet machine, not beside another run.
        faults = {folder: fault for folder, fault in faults.items() if fault.judge != "speed"}
        firsts = {fault.expect.code: folder for folder, fault in reversed(faults.items())}
        faults = {folder: fault for folder, fault in faults.items() if folder in firsts.values()}
    clean = chosen.clean if chosen.clean is not None else (0 if chosen.ids else 20)

    console = Console(emoji=False)
    began = time.monotonic()
    results: list[Result] = []
    with ThreadPoolExecutor(chosen.jobs) as workers:  # each run is a handful of processes of its own
        for folder, result in zip(faults, workers.map(run_fault, faults.values()), strict=True):
            results.append(result)
            console.print(f"{result.mark} {folder.name}: {result.said} ({result.seconds:.1f} s)", highlight=False)
        false_alarms = run_clean(range(clean), workers, console)

    table = Table("what", "count")
    table.add_row("faults caught / total", f"{sum(r.caught for r in results)} / {len(results)}")
    table.add_row("place right / total", f"{sum(r.placed for r in results)} / {len(results)}")
    table.add_row("clean runs without a finding / total", f"{clean - false_alarms} / {clean}")
    table.add_row("seconds", f"{time.monotonic() - began:.0f}")
    console.print(table)
    failed = sum(not (r.caught and r.placed) for r in results) + false_alarms
    console.print(f"{len(results) + clean - failed} passed, {failed} failed", highlight=False)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
