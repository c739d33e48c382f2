"""Large programs for the builder: recipes of many modules and single files of a given length, and shapes that grow.

    files = recipe(modules=100, lines=20_000)     # {"pkg/train.py": "...", ...}
    files = script(lines=5_000)                   # {"train.py": "..."}
    settings = write(files, directory)            # build settings for them
    make, size = SHAPES["a long elif chain"]      # files = make(size)

Recipes read like training code: functions, classes, dataclasses, comments, docstrings, f-strings, knobs, imports of
every kind between the modules. Everything is used by `main`, which prints one number, so that a program and what is
built from it can be compared.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path

from parity_tests.test_builder_cases import profile_text

Files = dict[str, str]

CONFIG = '''\
"""What may vary between runs."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Config:
    """All knobs."""

{fields}

    @property
    def total(self) -> int:
        """A value over knobs."""
        return self.depth_0 * 2 + 1


def load_config(argv=None) -> Config:
    """The knobs of the command line."""
    return Config()
'''
KINDS = ("depth_{}: int = {}", "flag_{}: bool = {}", "rate_{}: float = {}", "kind_{}: str = {}")


def _config(knobs: int) -> str:
    fields = []
    for number in range(knobs):
        value = (str(number % 7 + 1), str(number % 3 == 0), "0.125", '"torch"')[number % 4]
        fields.append("    " + KINDS[number % 4].format(number, value) + f"  # knob {number}")
    return CONFIG.format(fields="\n".join(fields))


# One unit of a module: {i} is its number, {p} the unit before it that it calls, {m} the module's number, {k} a knob's.
UNITS = (
    '''\
def scale_{i}(value: float, *, offset: float = {i}.5, steps: int = 3) -> float:
    """Scale a value in a few steps.

    The result stays within [-1, 1], whatever `value` is.
    """
    # A warm start: the first step counts twice.
    total = value * WIDTH + offset
    for step in range(steps):
        if step % 2 == 0:
            total = total * 0.5 + step  # damped
        else:
            total -= math.sin(step) * 0.25
    weights = [w * total for w in range(4) if w != 2]
    names = {{name: len(name) for name in ("alpha", "beta", f"gamma_{{steps}}")}}
    return math.tanh(sum(weights) / 1000 + sum(names.values()) + {p}(total) * 1e-3)


''',
    '''\
class Block_{i}:
    """A block with state, {i} wide.

    Called with one number, it gives another.
    """

    width = {i}
    label: str = "block {i}"

    def __init__(self, depth: int = 2) -> None:
        self.depth = depth
        self.cache: dict[str, float] = {{}}
        self.history = [0.0] * depth

    def forward(self, value: float) -> float:
        """One pass."""
        key = f"{{self.label}}:{{value:.3f}}"
        if key not in self.cache:
            try:
                self.cache[key] = {p}(value / (self.width + 1))
            except (ValueError, OverflowError) as error:
                raise RuntimeError(f"block {i} failed for {{value!r}}") from error
        self.history.append(self.cache[key])
        return self.cache[key]

    def summary(self) -> str:
        # Only the last values matter here; the others are
        # kept for the log.
        parts = [f"{{value:>8.4f}}" for value in self.history[-3:]]
        return " | ".join(parts) + f" of {{len(self.history)}}"


def block_{i}(value: float) -> float:
    """What a fresh block gives."""
    block = Block_{i}(depth=3)
    first = block.forward(value)
    return first + len(block.summary()) * 1e-6


''',
    '''\
def choose_{i}(value: float, config: Config) -> float:
    """Take the way that the knobs say."""
    if config.flag_1 and config.depth_0 > 2:
        # The fast way.
        result = value * config.rate_2
    elif config.kind_3 == "nki":
        result = value - config.depth_0
    else:
        result = value + config.rate_2 * config.depth_{k}
    text = f"way {{config.kind_3}} with {{config.depth_0:>3}} layers"
    scale = 2.0 if config.kind_3 == "torch" else 3.0
    return result * scale + len(text) + {p}(value)


''',
    '''\
@dataclass
class State_{i}:
    """What an update leaves behind."""

    step: int = {i}
    loss: float = 0.0
    grads: tuple[float, ...] = (0.5, 0.25, 0.125)
    names: list[str] = field(default_factory=list)

    def update(self, loss: float) -> "State_{i}":
        """One more step."""
        grads = tuple(grad * loss for grad in self.grads)
        return State_{i}(self.step + 1, loss, grads, [*self.names, f"step{{self.step}}"])


TABLE_{i} = {{
    "first": ({i}, 2, 3),
    "second": (4, 5, {i}),  # comes after the first
    "third": tuple(range(3)),
}}


def run_{i}(value: float) -> float:
    """A few updates, then the sum of what the table says."""
    state = State_{i}()
    for name, numbers in TABLE_{i}.items():
        state = state.update(sum(numbers) * value + len(name))

    def mean(*values: float) -> float:
        return sum(values) / max(len(values), 1)

    key = max(TABLE_{i}, key=lambda name: sum(TABLE_{i}[name]))
    return math.atan(mean(*state.grads, state.loss) + len(key) + {p}(value))


''',
)
NAMES = ("scale_{}", "block_{}", "chosen_{}", "run_{}")
TAKES_CONFIG = 2  # index of the unit with a config


def _unit(kind: int, number: int, before: str, module: int, plain: bool) -> tuple[str, str]:
    """A unit's text, and the name of the function of one number in it."""
    if plain and kind == TAKES_CONFIG:
        kind = 0
    text = UNITS[kind].format(i=number, p=before, m=module, k=4 * (number % 10))
    name = NAMES[kind].format(number) if kind != TAKES_CONFIG else f"choose_{number}"
    return text, name


HEADER = '''\
# Copyright the authors of module {m}.

"""Module {m}: what it computes is of no use, and like what training code computes."""

import math
import json
from dataclasses import dataclass, field
{imports}

WIDTH = {m} % 5 + 1  # how wide
NAMES = ("alpha", "beta", "gamma")


def identity(value: float) -> float:
    """Nothing."""
    return value


'''


def _module(number: int, lines: int, config: bool) -> str:
    imports = ["from .config import Config"] if config else []
    calls = []
    if number >= 1:
        imports.append(f"from .m{number - 1:03d} import total as total_before")
        calls.append("total_before")
    if number >= 2 and number % 3 == 0:
        imports.append(f"from . import m{number // 2:03d}")
        calls.append(f"m{number // 2:03d}.identity")
    if number >= 3 and number % 4 == 0:
        imports.append(f"import pkg.m{number - 3:03d} as earlier")
        calls.append("earlier.identity")
    return _body(number, lines, config, "\n".join(imports), calls)


def _body(number: int, lines: int, config: bool, imports: str, calls: list[str]) -> str:
    text = HEADER.format(m=number, imports=imports)
    size = text.count("\n")
    before, unit, names = "identity", 0, []
    end_lines = 16
    while True:
        piece, name = _unit((unit + number) % 4, unit, before, number, not config)
        count = piece.count("\n")
        if size + count + end_lines > lines:
            break
        text += piece
        size += count
        names.append(name)
        if not name.startswith("choose_"):
            before = name
        unit += 1
    terms = []
    for name in names:
        terms.append(f"{name}(value, config)" if name.startswith("choose_") else f"{name}(value)")
    signature = "value: float, config: Config" if config else "value: float"
    text += f'def total(value: float) -> float:\n    """Some of it."""\n    return {before}(value) * 0.5\n\n\n'
    text += f'def everything({signature}) -> float:\n    """All of it."""\n    result = json.loads("0.5")\n'
    terms += [f"{call}(value)" for call in calls]
    for chunk in textwrap.wrap(" + ".join(terms), 100, break_on_hyphens=False):
        text += f"    result += {chunk.removeprefix('+ ').removesuffix(' +')}\n"
    return text + "    return result\n"


def recipe(modules: int = 100, lines: int = 20_000, knobs: int = 40) -> Files:
    """A package of `modules` modules and about `lines` lines."""
    each = lines // modules
    files = {"pkg/__init__.py": "", "pkg/config.py": _config(knobs)}
    for number in range(modules):
        files[f"pkg/m{number:03d}.py"] = _module(number, each, config=True)
    imports = "\n".join(f"from .m{number:03d} import everything as everything_{number}" for number in range(modules))
    calls = "\n".join(f"    total += everything_{number}(0.5, config)" for number in range(modules))
    files["pkg/train.py"] = (
        '"""Runs all modules."""\n\n'
        f"from .config import Config, load_config\n{imports}\n\n\n"
        f"def main(config: Config) -> None:\n    total = 0.0\n{calls}\n    print(round(total, 9))\n\n\n"
        'if __name__ == "__main__":\n    main(load_config())\n'
    )
    return files


def script(lines: int = 5_000) -> Files:
    """One file of about `lines` lines, without a config class."""
    text = _body(0, lines - 10, False, "", [])
    return {"train.py": text + MAIN.format("print(round(everything(0.5), 9))")}


MAIN = """

def main() -> None:
    {}


if __name__ == "__main__":
    main()
"""


# Shapes that could take time by the square of their size. Each is a package or script of a size that is asked for.


def one_function(size: int) -> Files:
    """One function of `size` lines."""
    lines = ["def step(x):"]
    for i in range(size // 4):
        lines += [f"    y{i} = x + {i}  # {i}", f"    if y{i} > {i}:", f'        x = y{i} * 2 + len(f"{{y{i}:>4}}")']
        lines.append(f"    z = [k for k in range({i % 5}) if k != y{i}]")
    lines.append("    return x % 1000")
    return {"train.py": "\n".join(lines) + "\n" + MAIN.format("print(step(3))")}


def one_expression(size: int) -> Files:
    """One sum of `size` terms."""
    terms = " + ".join(f"x{i % 3}" for i in range(size))
    return {"train.py": f"def step(x0, x1, x2):\n    return {terms}\n" + MAIN.format("print(step(1, 2, 3))")}


def small_parts(size: int) -> Files:
    """`size` statements of a line each, all needed."""
    lines = ["v0 = 1", *(f"v{i} = v{i - 1} + {i}" for i in range(1, size))]
    return {"train.py": "\n".join(lines) + "\n" + MAIN.format(f"print(v{size - 1})")}


def small_parts_with_knobs(size: int) -> Files:
    """`size` small functions that each fold a branch by a knob."""
    functions = [
        f"def f{i}(config: Config):\n    if config.flag_1:\n        return {i}\n    return config.depth_0 + {i}\n\n\n"
        for i in range(size)
    ]
    calls = "\n".join(f"    total += f{i}(config)" for i in range(size))
    text = "from .config import Config, load_config\n\n\n" + "".join(functions)
    text += f"def main(config: Config) -> None:\n    total = 0\n{calls}\n    print(total)\n\n\n"
    text += 'if __name__ == "__main__":\n    main(load_config())\n'
    return {"pkg/__init__.py": "", "pkg/config.py": _config(4), "pkg/train.py": text}


def knobs(size: int) -> Files:
    """`size` knobs, each read once."""
    reads = "\n".join(f"    total += len(str(config.{KINDS[i % 4].split(':')[0].format(i)}))" for i in range(size))
    text = f"from .config import Config, load_config\n\n\ndef main(config: Config) -> None:\n    total = 0\n{reads}\n"
    text += '    print(total)\n\n\nif __name__ == "__main__":\n    main(load_config())\n'
    return {"pkg/__init__.py": "", "pkg/config.py": _config(size), "pkg/train.py": text}


def methods(size: int) -> Files:
    """A class of `size` methods."""
    lines = ["class Model:"]
    for i in range(size):
        lines += [
            f"    def m{i}(self, x: int = {i}) -> int:",
            f'        """Method {i}."""',
            f"        return x + {i}",
            "",
        ]
    return {"train.py": "\n".join(lines) + "\n" + MAIN.format(f"print(Model().m{size - 1}())")}


def dictionary(size: int) -> Files:
    """A dict literal of `size` entries, a line each."""
    lines = ["TABLE = {", *(f'    "key {i}": ({i}, len("{i}")),  # {i}' for i in range(size)), "}"]
    return {"train.py": "\n".join(lines) + "\n" + MAIN.format("print(len(TABLE))")}


def wide_line(size: int) -> Files:
    """A dict literal of `size` entries that are not ASCII, all on one line."""
    entries = ", ".join(f'"ä{i}": x' for i in range(size))
    return {"train.py": f"x = 1\nTABLE = {{{entries}}}\n" + MAIN.format("print(len(TABLE))")}


def elif_chain(size: int) -> Files:
    """One `if` with `size` branches that a knob decides, and one that it does not."""
    decided = "\n".join(f"    {'el' if i else ''}if config.depth_0 == {i + 2}:\n        x = {i}" for i in range(size))
    opened = "\n".join(f"    {'el' if i else ''}if x == {i}:\n        x = {i + 1}" for i in range(size))
    text = f"from .config import Config, load_config\n\n\ndef main(config: Config) -> None:\n    x = 7\n{decided}\n"
    text += f'{opened}\n    print(x)\n\n\nif __name__ == "__main__":\n    main(load_config())\n'
    return {"pkg/__init__.py": "", "pkg/config.py": _config(4), "pkg/train.py": text}


def deep_blocks(size: int) -> Files:
    """`if` statements `size` deep."""
    lines = ["def step(x):", "    y = 0"]
    for i in range(size):
        lines += ["    " + " " * i + f"if x > {i}:", "     " + " " * i + f"y += {i}"]
    return {"train.py": "\n".join(lines) + "\n    return y\n" + MAIN.format("print(step(50))")}


def fields(size: int) -> Files:
    """An f-string of `size` fields."""
    text = "".join(f"{{x + {i}:>4}}|{{x=}}" for i in range(size // 2))
    return {"train.py": f'def step(x):\n    return f"{text}"\n' + MAIN.format("print(len(step(3)))")}


def star_chain(size: int) -> Files:
    """`size` modules, each with everything of the one before by a star import."""
    files = {"pkg/__init__.py": "", "pkg/m0.py": "v0 = 0\n"}
    for i in range(1, size):
        files[f"pkg/m{i}.py"] = f"from .m{i - 1} import *\n\nv{i} = v{i - 1} + 1\n"
    files["pkg/train.py"] = f"from .m{size - 1} import *\n" + MAIN.format(f"print(v0 + v{size - 1})")
    return files


def stars(size: int) -> Files:
    """A module with `size` star imports."""
    files = {"pkg/__init__.py": "", **{f"pkg/m{i}.py": f"v{i} = {i}\n" for i in range(size)}}
    imports = "\n".join(f"from .m{i} import *" for i in range(size))
    total = " + ".join(f"v{i}" for i in range(size))
    files["pkg/train.py"] = f"{imports}\n" + MAIN.format(f"print({total})")
    return files


def same_names(size: int) -> Files:
    """`size` modules that each define the same names."""
    module = "LIMIT = {0}\n\n\ndef step(x):\n    limit = LIMIT\n    return x + limit\n"
    files = {"pkg/__init__.py": "", **{f"pkg/m{i}.py": module.format(i) for i in range(size)}}
    imports = "\n".join(f"from . import m{i}" for i in range(size))
    total = " + ".join(f"m{i}.step(m{i}.LIMIT)" for i in range(size))
    files["pkg/train.py"] = f"{imports}\n" + MAIN.format(f"print({total})")
    return files


def hidden_names(size: int) -> Files:
    """`size` functions whose local variables hide a name that an imported one has."""
    functions = "".join(f"def f{i}(x):\n    Block = m.Block(x)\n    return Block + {i}\n\n\n" for i in range(size))
    total = " + ".join(f"f{i}(1)" for i in range(size))
    files = {"pkg/__init__.py": "", "pkg/m.py": "def Block(x):\n    return x + 1\n"}
    files["pkg/train.py"] = f"from . import m\n\n\n{functions}" + MAIN.format(f"print({total})")
    return files


def imports_in_functions(size: int) -> Files:
    """`size` modules that only a function imports."""
    files = {"pkg/__init__.py": "", **{f"pkg/m{i}.py": f"def f(x):\n    return x + {i}\n" for i in range(size)}}
    functions = "".join(f"def f{i}(x):\n    from .m{i} import f\n\n    return f(x)\n\n\n" for i in range(size))
    total = " + ".join(f"f{i}(1)" for i in range(size))
    files["pkg/train.py"] = functions + MAIN.format(f"print({total})")
    return files


def unions(size: int) -> Files:
    """`size` annotations that name two classes, one of them used."""
    text = "class A:\n    pass\n\n\nclass B:\n    pass\n\n\n"
    text += "".join(f"def f{i}(x: A | B | None = None) -> int:\n    return {i}\n\n\n" for i in range(size))
    total = " + ".join(f"f{i}()" for i in range(size))
    return {"train.py": text + MAIN.format(f"print({total}, A.__name__)")}


def calls_at_the_top(size: int) -> Files:
    """`size` statements that call, among functions and beside tables."""
    table = "".join(f"    {i}: [{i}, 'x'],\n" for i in range(size))
    parts = "".join(
        f"def f{i}(x):\n    return x + v{i} + len(TABLE[{i}])\n\n\nv{i} = max({i}, 2)\nprint(f{i}(v{i}))\n"
        for i in range(size)
    )
    text = f'import os\n\nDEPTH = int(os.environ.get("DEPTH", "3"))\nTABLE = {{\n{table}}}\n\n\n{parts}'
    return {"train.py": text + MAIN.format("print(len(TABLE) + DEPTH)")}


def environment_reads(size: int) -> Files:
    """`size` variables of the environment, each read by a helper, converted, and used in a function."""
    reads = "".join(
        f'V{i} = _env_int("FF_V{i}", {i})\nW{i} = os.environ.get("FF_W{i}", "1") == "1"\n' for i in range(size)
    )
    uses = "".join(f"    if W{i}:\n        x += V{i}\n" for i in range(size))
    helper = "import os\n\n\ndef _env_int(name, default):\n    return int(os.environ.get(name, str(default)))\n\n\n"
    text = f"{helper}{reads}\n\ndef step(x):\n{uses}    return x\n" + MAIN.format("print(step(1))")
    return {"train.py": text}


def environment_in_one_function(size: int) -> Files:
    """`size` variables of the environment, all read where they are used."""
    reads = "".join(f'    x += int(os.environ.get("FF_V{i}", "{i}"))\n' for i in range(size))
    return {"train.py": f"import os\n\n\ndef step(x):\n{reads}    return x\n" + MAIN.format("print(step(1))")}


def options(size: int) -> Files:
    """`size` options of the command line, each read once."""
    adds = "".join(f'    parser.add_argument("--opt-{i}", type=int, default={i})\n' for i in range(size))
    uses = "".join(f"    if args.opt_{i} > 3:\n        x += args.opt_{i}\n" for i in range(size))
    text = f"import argparse\n\n\ndef parse():\n    parser = argparse.ArgumentParser()\n{adds}"
    text += f"    return parser.parse_args()\n\n\ndef step(args, x):\n{uses}    return x\n" + MAIN.format(
        "args = parse()\n    print(step(args, 1))"
    )
    return {"train.py": text}


def write(files: Files, room: Path) -> Path:
    """Write a program into a directory, with build settings of a contest that has no size limit; returns these."""
    for name, text in files.items():
        path = room / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    contest = profile_text("files: {size_limit_bytes: 1000000000}")
    (room / "contest.yaml").write_text(contest, encoding="utf-8")
    entry = "pkg/train.py" if "pkg/train.py" in files else "train.py"
    lines = [f"entry: {entry}", "contest: contest.yaml", "launch: torchrun train.py"]
    if "pkg/config.py" in files:
        lines += ["config: pkg.config:Config", "config_loader: pkg.config:load_config"]
    settings = room / "build.yaml"
    settings.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return settings


# What is too large for Python itself: nested more than it can compile. Each takes a number of levels.
NESTED: dict[str, Callable[[int], str]] = {
    "a sum": lambda levels: "x" + " + x" * levels,
    "attributes": lambda levels: "x" + ".a" * levels,
    "calls": lambda levels: "x" + ".a()" * (levels // 2),
    "signs": lambda levels: "-" * levels + "x",
    "conditional expressions": lambda levels: "0 if x else " * levels + "x",
    "lambdas": lambda levels: "lambda: " * levels + "x",
    "powers": lambda levels: "x ** " * levels + "x",
    "subscripts": lambda levels: "x" + "[0]" * levels,
}

SHAPES: dict[str, tuple[Callable[[int], Files], int]] = {
    "a single file": (script, 5_000),
    "a package": (lambda size: recipe(size // 200, size), 10_000),
    "one function": (one_function, 5_000),
    "one expression": (one_expression, 2_800),
    "small parts": (small_parts, 3_000),
    "small parts with knobs": (small_parts_with_knobs, 1_000),
    "knobs": (knobs, 1_000),
    "a class of many methods": (methods, 1_000),
    "a long dict literal": (dictionary, 20_000),
    "a long line that is not ASCII": (wide_line, 20_000),
    "a long elif chain": (elif_chain, 1_000),
    "deep blocks": (deep_blocks, 80),
    "an f-string of many fields": (fields, 2_000),
    "a chain of star imports": (lambda names: star_chain(int((2 * names) ** 0.5)), 40_000),
    "many star imports": (stars, 500),
    "modules with the same names": (same_names, 500),
    "hidden names": (hidden_names, 1_000),
    "imports in functions": (imports_in_functions, 300),
    "annotated unions": (unions, 2_000),
    "calls at the top": (calls_at_the_top, 1_000),
    "environment reads by a helper": (environment_reads, 1_000),
    "environment reads in one function": (environment_in_one_function, 1_000),
    "options": (options, 500),
}
