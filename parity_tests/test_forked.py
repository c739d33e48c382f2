"""A program in a forked process ends as the interpreter ends it: its exit code, and what it has printed by then."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from parity_tests import forked

ENVIRONMENT = {"PATH": "/usr/bin:/bin"}  # with PYTHONUNBUFFERED, nothing would be left to write at the end
ENDINGS = {
    "at its end": "print('done')",
    "with a number": "import sys\nsys.exit(3)",
    "with words": "import sys\nsys.exit('not today')",
    "with an error": "import atexit\natexit.register(print, 'behind it')\nprint('before it')\nraise ValueError('no')",
    "without its output's last line": "import sys\nsys.stdout.write('half a line')",
    "at once": "import os\nprint('lost')\nos._exit(4)",
}


def run_in_both(program: str, directory: Path, log: Path | None = None) -> list[tuple[int | None, str]]:
    """(exit code, output) by the interpreter and by a fork; the outputs go to `log` where it is given."""
    train = directory / "train.py"
    train.write_text(program + "\n")
    ends: list[tuple[int | None, str]] = []
    for name in ("interpreter", "fork"):
        at = log or directory / f"{name}.txt"
        if name == "interpreter":
            with at.open("w") as output:
                done = subprocess.run(
                    [sys.executable, str(train)], stdout=output, stderr=output, env=ENVIRONMENT, check=False
                )
            code: int | None = done.returncode
        else:
            code = forked.run(forked.Program((str(train),), directory, (), ENVIRONMENT, at))
        ends.append((code, at.read_text() if log is None else ""))
    return ends


@pytest.mark.parametrize("name", ENDINGS)
def test_a_program_ends_as_by_the_interpreter(name: str, tmp_path: Path) -> None:
    (expected, printed), (code, output) = run_in_both(ENDINGS[name], tmp_path)
    assert code == expected
    lines = [
        line for line in output.splitlines() if not line.startswith(" ")
    ]  # a traceback's frames are the fork's own
    assert lines == [line for line in printed.splitlines() if not line.startswith(" ")]


@pytest.mark.parametrize(
    ("program", "code"), [("print('x')", 120), ("print('x')\nraise ValueError('no')", 120), ("", 0)]
)
def test_output_that_cannot_be_written_is_told_by_the_exit_code(program: str, code: int, tmp_path: Path) -> None:
    assert [end for end, _ in run_in_both(program, tmp_path, Path("/dev/full"))] == [code, code]
