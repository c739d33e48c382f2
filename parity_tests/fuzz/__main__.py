"""Many random programs: `python -m parity_tests.fuzz [COUNT] [--first SEED]`."""

from __future__ import annotations

import argparse
import collections
import random
import sys
import tempfile
import time
import warnings
from pathlib import Path

from parity_tests.fuzz.expressions import FEATURES
from parity_tests.fuzz.knobs import Knobs
from parity_tests.fuzz.packages import Packages
from parity_tests.fuzz.reduce import reduce
from parity_tests.fuzz.running import DifferenceError, compare


def program(seed: int) -> dict[str, str]:
    """The program of a seed: about knobs where it is odd, else of some features, so that each meets others."""
    rng = random.Random(seed // 2)
    if seed % 2:
        return Knobs(rng).package()
    chosen = frozenset(feature for feature in sorted(FEATURES) if rng.random() < 0.6)
    return Packages(rng, chosen).package()


def outcome(files: dict[str, str]) -> tuple[str, DifferenceError | None]:
    """What became of a program ("wrong" when it differs), and how."""
    with tempfile.TemporaryDirectory() as room:
        try:
            return compare(files, Path(room)), None
        except DifferenceError as error:
            return "wrong", error


def kind(error: DifferenceError | None) -> str:
    """What a smaller program must have in common with the one that failed."""
    if error is None:
        return ""
    words = str(error).split()
    codes = sorted({word for word in words if word.startswith("BLD")})
    return " ".join([*words[:1], *codes, error.ended.split(":")[0]])


def shrunk(files: dict[str, str], failure: DifferenceError) -> str:
    """A failure and the smallest program that has it, as text."""

    def fails(smaller: dict[str, str]) -> bool:
        if "pkg/train.py" not in smaller or "pkg/__init__.py" not in smaller:
            return False
        try:
            result, how = outcome(smaller)
        except Exception:  # a program that cannot even be run is no smaller form of the one that failed
            return False
        return result == "wrong" and kind(how) == kind(failure)

    small = reduce(files, fails)
    text = "\n".join(f"# ---- {name}\n{text}" for name, text in small.items() if text.strip())
    return f"{outcome(small)[1]}\n{text}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m parity_tests.fuzz")
    parser.add_argument("count", type=int, nargs="?", default=2000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--shrink", type=int, default=3, help="how many failures to make small")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    results: collections.Counter[str] = collections.Counter()
    failures: collections.Counter[str] = collections.Counter()
    began = time.monotonic()
    for number in range(options.count):
        seed = options.first + number
        files = program(seed)
        result, error = outcome(files)
        results[result] += 1
        if error is not None:
            failures[kind(error)] += 1
            print(f"seed {seed}: {str(error)[:600]}", flush=True)
            if options.shrink > 0:
                options.shrink -= 1
                print(shrunk(files, error), flush=True)
        if sys.stderr.isatty() or number % 500 == 499:
            print(f"\r{number + 1} programs: {dict(results)}", end="", file=sys.stderr, flush=True)
    seconds = time.monotonic() - began
    refused = sum(n for name, n in results.items() if name.startswith("BLD"))
    print(
        f"\n{options.count} programs in {seconds:.0f} s: same {results['same']}, refused {refused} "
        f"({', '.join(f'{k} {n}' for k, n in sorted(results.items()) if k.startswith('BLD')) or 'none'}), "
        f"not importable {results['invalid']}, wrong {results['wrong']}"
    )
    return 1 if results["wrong"] or refused > options.count * 0.08 else 0


if __name__ == "__main__":
    sys.exit(main())
