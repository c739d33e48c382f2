"""How long `scorer check` takes for a file of 250 KB: python -m parity_tests.bench_review [--runs N].

The whole command, from the start of its process to its end, over a hand-kept contest file that is full of findings.
Printed are wall and processor time of each run; the best wall time decides, since only that of a quiet moment says
something of the program. Then the slowest rules, in a process that has read the file already.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from parity_tests.hand_kept import write
from scorer import review
from scorer.artifact import Artifact
from scorer.contest import load

ROOT = Path(__file__).parents[1]
ALLOWED = 1.0  # seconds
SLOWEST = 5


def timed(path: Path) -> tuple[float, float]:
    """Wall and processor seconds of one `scorer check`."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [sys.executable, "-m", "scorer", "check", str(path)]
    subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, check=False)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def slowest(path: Path) -> list[tuple[float, str]]:
    """(milliseconds of processor time, code) of the rules that take longest."""
    artifact, profile = Artifact.from_file(path, ""), load("embedded")
    review.review(artifact, profile)
    took = []
    for rule in review.ALL_RULES:
        others = {other.code: "off" for other in review.ALL_RULES if other is not rule}
        began = time.process_time()
        review.review(artifact, profile.model_copy(update={"rules": others}))
        took.append((1000 * (time.process_time() - began), rule.code))
    least = min(took)[0]  # parsing alone
    return sorted(((spent - least, code) for spent, code in took), reverse=True)[:SLOWEST]


def main() -> None:
    """Measure and judge."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=5)
    runs: int = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "train.py"
        path.write_text(write(seed=1, experiments=63, parse="function").text, "utf-8")
        times = [timed(path) for _ in range(runs)]
        for wall, processor in times:
            print(f"scorer check, {path.stat().st_size:,} bytes: {wall:.2f} s, {processor:.2f} s of processor time")
        print("slowest rules: " + ", ".join(f"{code} {spent:.0f} ms" for spent, code in slowest(path)))
    best = min(times)[0]
    print(f"scorer check: {best:.2f} s at best; at most {ALLOWED:.1f} s is allowed")
    raise SystemExit(best > ALLOWED)


if __name__ == "__main__":
    main()
