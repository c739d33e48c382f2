"""Large inputs: time grows with their size and not with its square, what is built still runs, what is too much for
Python itself is refused.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from builder.errors import BuildError
from builder.nesting import DEEPEST
from builder.produce import Build, produce
from parity_tests.builder_large import MAIN, NESTED, SHAPES, Files, write

GROWTH = 4
ALLOWED = 8  # times the time for GROWTH times the size; the square would be 16


def build(files: Files, room: Path) -> tuple[Build, float]:
    """A build, and the processor seconds that it took."""
    settings = write(files, room)
    begin = time.process_time()
    made = produce(settings)
    return made, time.process_time() - begin


def run(directory: Path, *arguments: str) -> str:
    environment = {"PATH": os.defpath, "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("shape", SHAPES)
def test_time_grows_with_the_size(shape: str, tmp_path: Path) -> None:
    make, size = SHAPES[shape]
    large = make(size // 2)
    small = make(size // 2 // GROWTH)
    made, _ = build(small, tmp_path / "small")
    seconds = [build(files, tmp_path / name)[1] for files, name in ((small, "small"), (large, "large"))]
    if seconds[1] > ALLOWED * seconds[0]:  # another program may have had the caches: the best of several counts
        seconds = [
            min(build(files, tmp_path / name)[1] for _ in range(3))
            for files, name in ((small, "small"), (large, "large"))
        ]
    assert seconds[1] < ALLOWED * seconds[0] + 0.02
    (tmp_path / "flat").mkdir()
    (tmp_path / "flat/train.py").write_bytes(made.files["train.py"])
    program = ("-m", "pkg.train") if "pkg/train.py" in small else ("train.py",)
    printed = run(tmp_path / "small", *program)
    assert printed
    assert run(tmp_path / "flat", "train.py") == printed


@pytest.mark.parametrize("form", NESTED)
def test_nesting_is_taken_as_far_as_python_goes(form: str, tmp_path: Path) -> None:
    def files(levels: int) -> Files:
        return {"train.py": f"def step(x):\n    return {NESTED[form](levels)}\n" + MAIN.format("print(step)")}

    assert build(files(DEEPEST - 50), tmp_path)[0].files["train.py"]
    for levels in (DEEPEST + 50, 10 * DEEPEST, 100 * DEEPEST):
        with pytest.raises(BuildError) as refused:
            build(files(levels), tmp_path)
        assert "BLD001 nested more than 2,900 levels deep" in str(refused.value)


def test_the_place_of_what_is_nested_too_deeply_is_told(tmp_path: Path) -> None:
    terms = "".join(f"        + {i}\n" for i in range(DEEPEST + 100))
    text = f"def step(x):\n    return (\n        x\n{terms}    )\n"
    with pytest.raises(BuildError) as refused:
        build({"train.py": text + MAIN.format("print(step(1))")}, tmp_path)
    assert str(refused.value).startswith("train.py:4: BLD001")
