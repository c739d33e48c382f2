"""Differential fuzzing: random packages must print the same as the artifact that is built of them."""

from __future__ import annotations

import contextlib
import io
import random
import re
import runpy
import sys
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from builder.errors import BuildError
from builder.produce import produce
from parity_tests.builder_programs import Programs
from parity_tests.test_builder_cases import profile_text

# Refused with the place: a name of a module that is bound again, two names that only a class body decides between.
REFUSALS = {"BLD013", "BLD033"}


def printed(program: Path, package: bool) -> str:
    """What a program prints when it runs as `__main__`, its exception included."""
    out = io.StringIO()
    before = list(sys.path)
    sys.path.insert(0, str(program))
    try:
        with contextlib.redirect_stdout(out):
            if package:
                runpy.run_module("pkg.train", run_name="__main__", alter_sys=True)
            else:
                runpy.run_path(str(program / "train.py"), run_name="__main__")
    except RecursionError:
        return "recursion without end"  # how deep it comes depends on the caller
    except Exception as error:  # any failure of the generated program is part of what it does
        out.write(f"{type(error).__name__}")
    finally:
        sys.path[:] = before
        for name in [name for name in sys.modules if name == "pkg" or name.startswith("pkg.")]:
            del sys.modules[name]
    return re.sub(r"<(function|class) [^>]+>", r"<\1>", out.getvalue())  # they show names, places, module names


def compare(seed: int, room: Path) -> str:
    """Build and run one program both ways: "same", or the refusal's code. Fails when the two print different things."""
    files = Programs(random.Random(seed)).package()
    source, flat = room / "source", room / "flat"
    for name, text in files.items():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(text, encoding="utf-8")
    (source / "contest.yaml").write_text(profile_text(), encoding="utf-8")
    lines = ["entry: pkg/train.py", "contest: contest.yaml", "launch: torchrun train.py"]
    (source / "build.yaml").write_text(
        "\n".join([*lines, "config: pkg.config:Config", "config_loader: pkg.config:load_config"])
    )
    sys.dont_write_bytecode = True
    expected = printed(source, package=True)
    try:
        made = produce(source / "build.yaml")
    except BuildError as error:
        codes = {problem.code for problem in error.problems}
        if codes <= REFUSALS:
            return codes.pop()
        raise AssertionError(f"seed {seed}: {error}") from error
    flat.mkdir(exist_ok=True)
    (flat / "train.py").write_bytes(made.files["train.py"])
    assert printed(flat, package=False) == expected, f"seed {seed}"
    return "same"


@settings(max_examples=100, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**32))
def test_random_packages_print_the_same(seed: int, tmp_path_factory) -> None:  # type: ignore[no-untyped-def]
    compare(seed, tmp_path_factory.mktemp("program"))


if __name__ == "__main__":
    import collections
    import tempfile

    first, last = int(sys.argv[1]), int(sys.argv[2])
    results: collections.Counter[str] = collections.Counter()
    for number in range(first, last):
        with tempfile.TemporaryDirectory() as directory:
            try:
                results[compare(number, Path(directory))] += 1
            except AssertionError as error:
                results["FAILED"] += 1
                print(str(error)[:1500])
    print(dict(results))
