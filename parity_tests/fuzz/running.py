"""One program both ways: as a package and as the artifact that is built of it; all that can be seen must agree."""

from __future__ import annotations

import ast
import collections
import contextlib
import enum
import importlib.util
import io
import json
import os
import re
import shlex
import signal
import sys
import types
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import builder.produce as phases
from builder.bindings import Variable
from builder.errors import BuildError
from builder.names import Names
from parity_tests.fuzz.packages import BEGUN
from parity_tests.test_builder_cases import profile_text

# What a correct program may be refused for, with its place; anything else that is refused is a failure.
REFUSALS: dict[str, str] = {
    "BLD013": "a name of a module that is bound again",
    "BLD016": "a star import of a name that is bound on some paths only",
    "BLD032": "a name whose text an f-string shows would change",
    "BLD033": "two names that only a class body decides between",
}
# And a program about knobs: where the builder may say that it does not know.
UNKNOWN = {
    "BLD021": "the environment, used in a way that cannot be followed",
    "BLD022": "the command line, used in a way that cannot be followed",
    "BLD030": "options that are not there at times",
}
PROGRAM = "pkg.train"
SETTINGS = "settings.json"  # of a program about knobs: what its source runs with
LONGEST = 3.0  # seconds; calls of calls of calls may add up
TOO_LONG = "ran too long"
INVALID = ("partially initialized module", "most likely due to a circular import", TOO_LONG)


class TooLongError(BaseException):
    """Not an Exception: no handler of the program catches it."""


@dataclass
class Seen:
    """What a run showed."""

    output: str
    failure: str  # exception type and message, or the exit code
    values: dict[str, dict[str, str]] = field(default_factory=dict)  # of each module, canonical


class DifferenceError(AssertionError):
    """The artifact does not do what the package does, or a correct program was refused.

    `ended` is how the package ended.
    """

    ended = ""


def write(files: dict[str, str], room: Path) -> Path:
    """Write a program with its settings; returns the settings file."""
    source = room / "source"
    for name, text in files.items():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(text, encoding="utf-8")
    (source / "contest.yaml").write_text(profile_text(), encoding="utf-8")
    lines = ["entry: pkg/train.py", "contest: contest.yaml", "launch: torchrun --standalone train.py"]
    if SETTINGS in files:
        lines.append(f"constants: {json.loads(files[SETTINGS])['named']}")
    if "pkg/config.py" in files:
        lines += ["config: pkg.config:Config", "config_loader: pkg.config:load_config"]
    settings = source / "build.yaml"
    settings.write_text("\n".join(lines), encoding="utf-8")
    return settings


# Running


def run_package(source: Path, environment: dict[str, str] | None = None, words: list[str] | None = None) -> Seen:
    """Run the entry as `python -m` would, in this process."""
    with _surroundings(source, environment or {}, words or []):
        spec = importlib.util.find_spec(PROGRAM)
        assert spec is not None
        main = types.ModuleType("__main__")
        main.__spec__, main.__package__, main.__file__ = spec, "pkg", spec.origin
        seen = _execute(main, Path(str(spec.origin)).read_text(encoding="utf-8"), str(spec.origin))
        modules = {name: module for name, module in sys.modules.items() if name.startswith("pkg")}
        for name, module in {**modules, PROGRAM: main}.items():
            seen.values[name] = {key: canonical(value) for key, value in vars(module).items()}
    return seen


def run_artifact(path: Path) -> Seen:
    """Run an artifact as the main program, in this process."""
    with _surroundings(path.parent, {}, []):
        main = types.ModuleType("__main__")
        main.__file__ = str(path)
        seen = _execute(main, path.read_text(encoding="utf-8"), str(path))
        seen.values["__main__"] = {key: canonical(value) for key, value in vars(main).items()}
    return seen


def _execute(main: types.ModuleType, text: str, name: str) -> Seen:
    out, failure = io.StringIO(), ""
    sys.modules["__main__"] = main

    def stop(*_: object) -> None:
        raise TooLongError

    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, LONGEST)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        try:
            exec(compile(text, name, "exec", dont_inherit=True), vars(main))
        except SystemExit as error:
            failure = f"exit {error.code}"
        except TooLongError:
            failure = TOO_LONG
        except RecursionError:
            failure = "recursion without end"  # how deep it comes depends on the caller
        except Exception as error:  # whatever a generated program raises is part of what it does
            failure = f"{type(error).__name__}: {error}"
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    return Seen(out.getvalue(), failure)


@contextlib.contextmanager
def _surroundings(directory: Path, environment: dict[str, str], words: list[str]) -> Iterator[None]:
    before, main, quiet = list(sys.path), sys.modules["__main__"], sys.dont_write_bytecode
    variables, argv = dict(os.environ), sys.argv
    os.environ.update(environment)
    sys.argv = ["train.py", *words]
    sys.path.insert(0, str(directory))
    sys.dont_write_bytecode = True
    importlib.invalidate_caches()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        os.environ.clear()
        os.environ.update(variables)
        sys.argv = argv
        sys.path[:] = before
        sys.modules["__main__"] = main
        sys.dont_write_bytecode = quiet
        for name in [name for name in sys.modules if name == "pkg" or name.startswith("pkg.")]:
            del sys.modules[name]


def canonical(value: Any) -> str:
    """A value as text in which neither addresses nor names of modules and definitions show."""
    if isinstance(value, type):
        members = sorted(re.sub(r"^_\w+?__", "__", name) for name in vars(value) if not name.endswith("__"))
        return f"class of {members}"
    if callable(value):
        return "callable"
    if isinstance(value, types.ModuleType):
        return "module"
    if isinstance(value, enum.Enum):
        return f"member {value.name} {value.value!r}"
    if isinstance(value, (list, tuple)):
        return f"{type(value).__name__}({', '.join(map(canonical, value))})"
    if isinstance(value, dict):
        return f"dict({', '.join(f'{key!r}: {canonical(item)}' for key, item in value.items())})"
    if isinstance(value, (int, str, float, bytes, type(None))):
        return repr(value)
    return f"something of {type(value).__name__ if type(value).__module__ == 'builtins' else ''}"


# Comparing


def compare(files: dict[str, str], room: Path) -> str:
    """Build and run one program both ways: "same", "invalid" (Python does not even import it), or a refusal's code.

    Raises DifferenceError when the two differ.
    """
    settings = write(files, room)
    given = json.loads(files[SETTINGS]) if SETTINGS in files else None
    expected = run_package(settings.parent) if given is None else run_as_given(files, given, room / "given")
    try:
        return _compared(settings, expected, room / "flat", given)
    except DifferenceError as error:
        error.ended = expected.failure
        raise


def run_as_given(files: dict[str, str], given: dict[str, Any], room: Path) -> Seen:
    """Run a program about knobs as its settings say: with variables and words, and constants of other values."""
    changed = dict(files)
    for knob, value in given["constants"].items():
        module, _, name = knob.partition(":")
        file = f"{module.replace('.', '/')}.py"
        changed[file] = re.sub(rf"^{name} = .*$", f"{name} = {value}", changed.get(file, ""), flags=re.MULTILINE)
    return run_package(write(changed, room).parent, given["environment"], given["arguments"])


def _compared(settings: Path, expected: Seen, flat: Path, given: dict[str, Any] | None) -> str:
    unfit = given is None and expected.failure and BEGUN not in expected.output
    if unfit or any(words in expected.failure for words in INVALID):
        return "invalid"
    try:
        made, names = build(settings, given)
    except BuildError as error:
        codes = {problem.code for problem in error.problems}
        if codes <= set(REFUSALS) or (given is not None and codes <= {*REFUSALS, *UNKNOWN}):
            return min(codes)
        if given is not None and expected.failure and codes == {"BLD009"}:
            return "invalid"  # the program itself refuses what is given
        raise DifferenceError(f"refused: {error}") from error
    flat.mkdir(exist_ok=True)
    (flat / "train.py").write_bytes(made.files["train.py"])
    found = run_artifact(flat / "train.py")
    check(expected, found, names)
    return "same"


def launch(given: dict[str, Any]) -> str:
    """The launch string of a program about knobs."""
    variables = [f"{name}={shlex.quote(value)}" for name, value in given["environment"].items()]
    return " ".join([*variables, "torchrun --standalone train.py", *map(shlex.quote, given["arguments"])])


def build(settings: Path, given: dict[str, Any] | None = None) -> tuple[phases.Build, Names]:
    """Build, and keep the names that the builder chose."""
    kept: list[Names] = []
    choose = vars(phases)["name_everything"]

    def choose_and_keep(*arguments: Any) -> Names:
        kept.append(choose(*arguments))
        return kept[-1]

    with mock.patch.object(phases, "name_everything", choose_and_keep):
        constants = [(name.partition(":")[2], value) for name, value in (given["constants"] if given else {}).items()]
        sets = tuple(f"{name}={json.dumps(ast.literal_eval(value))}" for name, value in constants)
        request = phases.Request(settings, launch=launch(given) if given else None, sets=sets)
        return phases.build(request), kept[-1]


def check(expected: Seen, found: Seen, names: Names) -> None:
    """Raise DifferenceError unless the artifact showed what the package did, and left the same values."""
    renamed = {final: symbol.name for symbol, final in names.final.items() if isinstance(symbol, Variable)}
    renamed |= {second: symbol.name for symbol, second in names.aliases.items()}

    def plain(text: str) -> str:
        text = re.sub(r"(?:__main__|\bpkg(?:\.\w+)*)\.(?=\w)", "", text)
        text = re.sub(r" at 0x[0-9a-f]+", "", text)
        return re.sub(r"\b\w+\b", lambda match: str(renamed.get(match.group(), match.group())), text)

    if plain(expected.output) != plain(found.output):
        ends = f"{found.failure or 'no error'} (expected {expected.failure or 'none'})"
        raise DifferenceError(f"output:\n{_first(expected.output, found.output, plain)}\n  {ends}")
    if plain(expected.failure) != plain(found.failure):
        raise DifferenceError(f"end: expected {expected.failure!r}, found {found.failure!r}")
    left = found.values["__main__"]
    shared = collections.Counter([*names.final.values(), *(covered.name for covered in names.covered)])
    for symbol, final in names.final.items():
        if isinstance(symbol, Variable) and symbol.module in expected.values:  # it is not where its import failed
            value = expected.values.get(symbol.module, {}).get(symbol.name, "nothing")
            name = names.aliases.get(symbol, final)
            if value in ("module", "nothing") and (shared[name] > 1 or name not in left):
                continue  # never bound here, or a module that nothing kept reads
            if value != left.get(name, "nothing"):
                message = f"{symbol.module}.{symbol.name} is {value}, its `{name}` is {left.get(name, 'nothing')}"
                raise DifferenceError(f"namespace: {message}")


def _first(expected: str, found: str, plain: Any) -> str:
    one, other = [*expected.split("\n"), "(end)"], [*found.split("\n"), "(end)"]
    pairs = [(a, b) for a, b in zip(one, other, strict=False) if plain(a) != plain(b)]
    return f"  expected {pairs[0][0]}\n  found    {pairs[0][1]}" if pairs else "  one is longer"
