"""How fast the builder is, and what it makes where other bundlers try: python -m parity_tests.bench_builder.

    --tools DIRECTORY    bin/ of an environment with stickytape and pinliner; left out, the builder stands alone
    --runs N             the least of N runs counts (default 3)

Two tables. The first holds builds of generated recipes against the limits: processor seconds of a process that builds
once, seconds on the wall, how much longer than the parser takes for the same sources (which a busy machine does not
change), peak memory. The second holds every tool on small programs of different kinds: whether it builds, whether what
it made runs from an empty directory and prints what the program prints, whether `inspect.getsource` finds every
function of the program while it runs (kernel compilers ask), and the processor seconds of its whole command. Exits with
1 when the builder is over a limit or wrong somewhere.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from parity_tests import hand_kept
from parity_tests.builder_large import Files, recipe, script, write

ROOT = Path(__file__).parents[1]
RECIPE = "recipe of 100 modules, 20,000 lines"
RECIPES: dict[str, Callable[[], Files]] = {
    RECIPE: lambda: recipe(100, 20_000),
    "recipe of 200 modules, 40,000 lines": lambda: recipe(200, 40_000),
    "single file, 5,000 lines": lambda: script(5_000),
    "hand-kept file, 5,000 lines, 250 KB, 350 knobs": lambda: {"train.py": hand_kept.write(1, 63).text},
}
SECONDS = {name: 3.0 if name == RECIPE else 2.0 for name in RECIPES if "40,000" not in name}
GROWTH = 2.3  # of the time, from 20,000 to 40,000 lines

MAIN = '\n\nif __name__ == "__main__":\n    main()\n'
PACKAGE = {"pkg/__init__.py": ""}
CONFIG = """
import sys
from dataclasses import dataclass


@dataclass(frozen=True)
class Config:
    depth: int = 3
    norm: str = "rms"


def load_config(argv=None):
    return Config()
"""
PROGRAMS: dict[str, Files] = {
    "a script and a sibling": {
        "helpers.py": "def scale(x):\n    return 2 * x\n",
        "train.py": f"import helpers\n\n\ndef main():\n    print(helpers.scale(4)){MAIN}",
    },
    "absolute imports of a package": {
        **PACKAGE,
        "pkg/model.py": "class Model:\n    def run(self, x):\n        return x + 1\n",
        "pkg/train.py": f"import pkg.model as m\nfrom pkg.model import Model\n\n\ndef main():\n"
        f"    print(Model().run(1), m.Model().run(2)){MAIN}",
    },
    "relative imports in the entry": {
        **PACKAGE,
        "pkg/model.py": "WIDTH = 3\n\n\ndef model(x):\n    return x * WIDTH\n",
        "pkg/train.py": f"from . import model as m\nfrom .model import WIDTH\n\n\ndef main():\n"
        f"    print(m.model(2), WIDTH){MAIN}",
    },
    "star imports": {
        **PACKAGE,
        "pkg/ops.py": "def norm(x):\n    return x / 2\n\n\ndef _hidden(x):\n    return 0\n",
        "pkg/more.py": "from .ops import *\n\n\ndef twice(x):\n    return norm(2 * x)\n",
        "pkg/train.py": f"from .more import *\n\n\ndef main():\n    print(norm(3), twice(3)){MAIN}",
    },
    "one name, three meanings": {
        **PACKAGE,
        "pkg/a.py": "LIMIT = 1\n\n\ndef norm(x, scale=LIMIT):\n    return x + scale\n",
        "pkg/b.py": "from .a import norm as base\n\nLIMIT = 20\n\n\ndef norm(x):\n    return base(x) * LIMIT\n",
        "pkg/train.py": "from . import a, b\nfrom .b import norm\n\n\ndef main():\n    LIMIT = 300\n"
        f"    values = [norm(LIMIT) for norm in (a.norm, b.norm)]\n    print(values, norm(1), LIMIT + a.LIMIT){MAIN}",
    },
    "knobs of the environment and the command line": {
        "train.py": "import argparse\nimport os\n\n\ndef env_int(name, default):\n"
        "    return int(os.environ.get(name, default))\n\n\nDEPTH = env_int('DEPTH', '3')\n\n\ndef main():\n"
        "    parser = argparse.ArgumentParser()\n    parser.add_argument('--width', type=int, default=2 * DEPTH)\n"
        f"    args = parser.parse_args()\n    print(DEPTH, args.width){MAIN}",
    },
    "a config with knobs": {
        **PACKAGE,
        "pkg/config.py": CONFIG,
        "pkg/train.py": "from .config import Config, load_config\n\n\ndef main(config: Config):\n"
        '    scale = 2 if config.norm == "rms" else 3\n    print(sum(range(config.depth)) * scale)\n\n\n'
        'if __name__ == "__main__":\n    main(load_config())\n',
    },
}
TOOLS = ("builder", "stickytape", "pinliner")

# Runs train.py here as the main program; at its first print, asks for the source of each of its functions that have a
# name and a file (dataclasses make some that have none).
ASK = """
import builtins, gc, inspect, os, runpy, sys, types
say, home = print, os.path.dirname(os.__file__)
def print(*args, **kwargs):
    builtins.print = say
    own = [f for f in gc.get_objects() if isinstance(f, types.FunctionType) and f.__code__.co_name[0] != "<"
           and not f.__code__.co_filename.startswith((home, sys.prefix, "<"))]
    lost = []
    for function in own:
        try:
            if f"def {function.__code__.co_name}(" not in inspect.getsource(function):
                lost.append(function.__qualname__)
        except (OSError, TypeError):
            lost.append(function.__qualname__)
    say(len(own), *lost, file=sys.stderr)
builtins.print = print
runpy.run_path("train.py", run_name="__main__")
"""


@dataclass
class Measured:
    """One build in a process of its own."""

    processor: float
    wall: float
    parsing: float  # processor seconds that ast.parse alone takes for the sources
    megabytes: int


@dataclass
class Result:
    """What one tool did with one program. `why` is the last line of what it said when something failed."""

    builds: bool = False
    runs: bool = False
    same: bool = False
    sources: bool = False
    seconds: float = 0.0
    size: int = 0
    why: str = ""

    @property
    def right(self) -> bool:
        """Whether everything is as it must be."""
        return self.builds and self.runs and self.same and self.sources


def measure(files: Files, runs: int) -> Measured:
    """Build in fresh processes; the least of each figure."""
    found: list[Measured] = []
    with tempfile.TemporaryDirectory() as directory:
        settings = write(files, Path(directory))
        for _ in range(runs):
            command = [sys.executable, "-m", "parity_tests.bench_builder", "--build", str(settings)]
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
            found.append(Measured(**json.loads(done.stdout)))
    return Measured(
        *(min(getattr(one, name) for one in found) for name in ("processor", "wall", "parsing", "megabytes"))
    )


def build_once(settings: Path) -> None:
    """Build, and print the figures as JSON."""
    from builder.produce import produce

    texts = [path.read_text(encoding="utf-8") for path in settings.parent.rglob("*.py")]
    begin = time.process_time()
    for text in texts:
        ast.parse(text)
    parsing = time.process_time() - begin
    processor, wall = time.process_time(), time.perf_counter()
    produce(settings)
    figures = {
        "processor": time.process_time() - processor,
        "wall": time.perf_counter() - wall,
        "parsing": parsing,
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }
    print(json.dumps(figures))


def commands(tool: str, tools: Path | None, room: Path, out: Path) -> list[str] | None:
    """The command by which a tool makes `out`/train.py of the program in `room`; None for a tool that is not there."""
    if tool == "builder":
        return [sys.executable, "-m", "builder", "produce", "--settings", str(room / "build.yaml"), "-o", str(out)]
    if tools is None or not (tools / tool).exists():
        return None
    package = (room / "pkg").is_dir()
    if tool == "stickytape":
        entry = room / ("pkg/train.py" if package else "train.py")
        target = ["--add-python-path", str(room), "--output-file", str(out / "train.py")]
        return [str(tools / tool), str(entry), *target]
    return [str(tools / tool), str(room / "pkg" if package else room), str(out / "train.py")]


def try_tool(command: list[str], out: Path, expected: str) -> Result:
    """Build with one tool and run what it made, in an empty directory."""
    result = Result()
    if "builder" not in command:
        out.mkdir(parents=True)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    made = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    result.seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    result.builds = made.returncode == 0
    if not result.builds:
        result.why = last_line(made.stderr)
        return result
    result.size = (out / "train.py").stat().st_size
    room = out.with_name(out.name + "-alone")
    room.mkdir()
    (room / "train.py").write_bytes((out / "train.py").read_bytes())
    ran = run(room, "train.py")
    result.runs, result.same = ran.returncode == 0, ran.returncode == 0 and ran.stdout == expected
    asked = run(room, "-c", ASK)
    answer = asked.stderr.split()
    result.sources = asked.returncode == 0 and len(answer) == 1 and int(answer[0]) > 0
    if not result.runs:
        result.why = last_line(ran.stderr)
    elif not result.same:
        result.why = f"prints {ran.stdout.strip()!r} for {expected.strip()!r}"
    elif not result.sources:
        result.why = f"no source of {' '.join(answer[1:4])}"
    return result


def run(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python in a directory, without this project on its path."""
    environment = {"PATH": os.defpath, "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, check=False)


def last_line(text: str) -> str:
    """What a program said last."""
    lines = text.strip().splitlines()
    return lines[-1] if lines else "said nothing"


def speed(console: Console, runs: int) -> bool:
    """Print the first table; whether every limit is kept."""
    measured = {name: measure(make(), runs) for name, make in RECIPES.items()}
    table = new_table(console, "builder", "processor s", "wall s", "limit s", "of ast.parse", "peak MB")
    for name, one in measured.items():
        limit = f"{SECONDS[name]:.1f}" if name in SECONDS else ""
        times = f"{one.processor / one.parsing:.1f} times"
        table.add_row(name, f"{one.processor:.2f}", f"{one.wall:.2f}", limit, times, str(one.megabytes))
    small, large, *_ = measured.values()
    growth = large.processor / small.processor
    console.print(table)
    console.print(f"time(40,000 lines) / time(20,000 lines) = {growth:.2f}; the limit is {GROWTH}\n")
    return growth <= GROWTH and all(measured[name].processor < limit for name, limit in SECONDS.items())


def compare(console: Console, tools: Path | None) -> bool:
    """Print the second table; whether the builder is right everywhere."""
    table = new_table(console, "program", "tool", "builds", "runs alone", "same output", "getsource", "processor s", "")
    right = True
    for name, files in {**PROGRAMS, RECIPE: RECIPES[RECIPE]()}.items():
        with tempfile.TemporaryDirectory() as directory:
            room = Path(directory) / "program"
            write(files, room)
            program = ["-m", "pkg.train"] if (room / "pkg").is_dir() else ["train.py"]
            expected = run(room, *program).stdout
            for tool in TOOLS:
                out = Path(directory) / tool
                command = commands(tool, tools, room, out)
                if command is None:
                    continue
                result = try_tool(command, out, expected)
                right = right and (result.right or tool != "builder")
                shown = [yes(done) for done in (result.builds, result.runs, result.same, result.sources)]
                table.add_row(name, tool, *shown, f"{result.seconds:.2f}", result.why)
        table.add_section()
    console.print(table)
    return right


def new_table(console: Console, *columns: str) -> Table:
    """A table with lines in a terminal, without them elsewhere."""
    return Table(*columns, box=box.ROUNDED if console.is_terminal else None)


def yes(done: bool) -> str:
    """A tick, in words."""
    return "yes" if done else "NO"


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tools", type=Path)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--build", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.build:
        build_once(chosen.build)
        return
    console = Console(highlight=False, emoji=False)
    if not console.is_terminal:
        console = Console(highlight=False, emoji=False, width=240)  # one line a row, whatever reads it
    fast = speed(console, chosen.runs)
    right = compare(console, chosen.tools)
    raise SystemExit(not (fast and right))


if __name__ == "__main__":
    main()
