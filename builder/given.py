"""The values that a user gives to knobs: from a YAML file, an environment file, a launch string, `--set`; later ones
count.

    FF_DEPTH=9 NEURON_LOGICAL_NC_CONFIG=2 torchrun --standalone --nproc_per_node=4 train.py --seq-len 1024
    ^ knob     ^ the contest's own                                                 ^ script ^ knob
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from builder.errors import BuildError, Problem, refuse
from builder.settings import Settings, read_mapping

VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
LAUNCH = "--launch"


@dataclass(frozen=True)
class Value:
    """One value for a knob: as YAML has it, where it was given, and the text of it."""

    value: Any
    text: str
    origin: str
    place: tuple[str, int]


@dataclass
class Given:
    """All values given, by knob, the last of each knob being the one that counts; and the launch string's words."""

    values: dict[str, list[Value]] = field(default_factory=dict)
    arguments: list[str] = field(default_factory=list)  # behind the script, in the launch string
    launch: str | None = None  # what is left of a launch string: what the artifact is launched by
    owned: dict[str, str] = field(default_factory=dict)  # the contest's variables in it

    def add(self, name: str, value: Value) -> None:
        """Add a value that counts more than those before."""
        self.values.setdefault(name, []).append(value)

    def last(self, name: str) -> Value:
        """The value that counts."""
        return self.values[name][-1]

    def origin(self, name: str) -> str:
        """Where the value that counts comes from, and what it replaced."""
        origins = [value.origin for value in reversed(self.values[name])]
        return ", over ".join(origins)


def option_words(given: Given) -> list[str]:
    """The command line's words: those of the launch string, then the options among the given values.

    `--name: true` is the option alone, any other value its argument, a list several.
    """
    words = list(given.arguments)
    for name in given.values:
        if not name.startswith("--"):
            continue
        value = given.last(name)
        if value.value is True:
            words.append(name)
        elif value.value is False:
            message = f"option `{name}` cannot be set to false"
            raise refuse("BLD006", *value.place, message, "leave it out, or give the option that says no")
        elif isinstance(value.value, list):
            words += [name, *map(str, value.value)]
        else:
            words.append(f"{name}={value.text}")
    return words


def variables(given: Given, others: set[str]) -> dict[str, str]:
    """The environment: every given value that is no option and no knob of another kind (`others`), as text."""
    problems = []
    found = dict(given.owned)
    for name in given.values:
        value = given.last(name)
        if name.startswith("--") or name in others:
            continue
        is_text = isinstance(value.value, (str, int, float)) and not isinstance(value.value, bool)
        if value.origin.startswith("file ") and not is_text:
            message = f"the environment variable `{name}` is a text, found {value.value!r}"
            problems.append(Problem(*value.place, "BLD006", message, "quote it, as the program shall find it"))
        found[name] = value.text
    if problems:
        raise BuildError(problems)
    return found


def gather(
    settings: Settings, config_file: Path | None, env_file: Path | None, launch: str | None, sets: list[str]
) -> tuple[Given, list[Problem]]:
    """Read all sources; and every problem with them."""
    given = Given()
    problems: list[Problem] = []
    readers: list[Callable[[], None]] = [
        lambda: _read_config(given, settings, config_file),
        lambda: _read_environment(given, settings, env_file),
        lambda: _read_launch(given, settings, launch),
        lambda: _read_sets(given, sets),
    ]
    for read in readers:
        try:
            read()
        except BuildError as error:
            problems += error.problems
    for knob, many in given.values.items():
        problems += [_half_character(*value.place, knob) for value in many if not _is_text([knob, value.value])]
    if not _is_text(given.arguments):
        problems.append(_half_character(LAUNCH, 0, "the command line"))
    return given, problems


def _is_text(value: Any) -> bool:
    """Whether all text in a value can be written to a file: half of a surrogate pair, as an undecodable byte of a
    command line becomes one, cannot.
    """
    try:
        json.dumps(value, ensure_ascii=False, default=str).encode()
    except UnicodeEncodeError:
        return False
    return True


def _half_character(file: str, line: int, name: str) -> Problem:
    where = file.encode("utf-8", "backslashreplace").decode()
    shown = name.encode("utf-8", "backslashreplace").decode()
    message = f"the value of `{shown}` holds a character that UTF-8 has not"
    return Problem(where, line, "BLD003", message, "write characters of Unicode")


def _read_config(given: Given, settings: Settings, path: Path | None) -> None:
    if path is None:
        return
    name = settings.display(path)
    for knob, entry in read_mapping(path, name, "BLD003").items():
        text = entry.value if isinstance(entry.value, str) else repr(entry.value)
        given.add(knob, Value(entry.value, text, f"file {name}:{entry.line}", (name, entry.line)))


def _read_environment(given: Given, settings: Settings, path: Path | None) -> None:
    """Lines `NAME=VALUE`, an `export` before and quotes around allowed; `#` begins a comment line."""
    if path is None:
        return
    name = settings.display(path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise refuse("BLD003", name, 0, f"cannot be read: {reason}", "name a text file in UTF-8") from error
    problems: list[Problem] = []
    lines: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip().removeprefix("export ").strip()
        if not stripped or stripped.startswith("#"):
            continue
        variable, equals, written = stripped.partition("=")
        words = _words(written)
        if not equals or not VARIABLE.fullmatch(variable) or words is None or len(words) > 1:
            message = f"expected NAME=VALUE, found {line.strip()!r}"
            problems.append(Problem(name, number, "BLD003", message, "quote a value that holds blanks"))
            continue
        if variable in lines:
            message = f"`{variable}` was already given in line {lines[variable]}"
            problems.append(Problem(name, number, "BLD007", message, "keep one of the two lines"))
        lines[variable] = number
        value = words[0] if words else ""
        given.add(variable, Value(value, value, f"environment {name}:{number}", (name, number)))
    if problems:
        raise BuildError(problems)


def _words(text: str) -> list[str] | None:
    """Words as a shell would read them; None where quotes do not close."""
    try:
        return shlex.split(text)
    except ValueError:
        return None


def _read_launch(given: Given, settings: Settings, launch: str | None) -> None:
    if launch is None:
        return
    place = (LAUNCH, 0)
    words = _words(launch)
    if words is None:
        raise refuse("BLD046", *place, "the launch string's quotes do not close", "correct the quotes")
    rules = settings.profile.launch
    script = next((i for i, word in enumerate(words) if word.endswith(".py") and "=" not in word), None)
    if script is None:
        raise refuse("BLD046", *place, "the launch string names no script", f"write it with `{rules.script}`")
    entry = settings.entry.rpartition(".")[2] + ".py"
    if Path(words[script]).name not in (entry, rules.script):
        message = f"the launch string runs {words[script]}, the entry is {entry}"
        raise refuse("BLD046", *place, message, "name the same file in both")
    kept: list[str] = []
    seen: set[str] = set()
    before = words[:script]
    while before and VARIABLE.fullmatch(before[0].partition("=")[0]) and "=" in before[0]:
        variable, _, value = before.pop(0).partition("=")
        if variable in seen:
            raise refuse("BLD007", *place, f"`{variable}` is given twice", "keep one of the two")
        seen.add(variable)
        if variable in rules.environment:
            kept.append(f"{variable}={value}")
            given.owned[variable] = value
        elif settings.is_owned(variable):
            message = f"`{variable}` belongs to the launcher, and the contest's launch string cannot set it"
            raise refuse("BLD046", *place, message, "leave it out")
        else:
            given.add(variable, Value(value, value, "launch string", place))
    given.launch = " ".join([*kept, *_launcher(before, settings), rules.script])
    given.arguments = words[script + 1 :]


def _launcher(words: list[str], settings: Settings) -> list[str]:
    """The words between the variables and the script, which the contest's grammar must know."""
    rules = settings.profile.launch
    known = [*rules.launcher]
    found: list[str] = []
    waiting = list(words)
    while waiting:
        word = waiting.pop(0)
        option, equals, count = word.replace("-", "_").partition("=")
        if option == "__nproc_per_node":
            if not equals:
                count = waiting.pop(0) if waiting else ""
            found.append(f"--nproc_per_node={count}")
        elif word in known:
            known.remove(word)
            found.append(word)
        else:
            expected = " ".join([*rules.launcher, "--nproc_per_node=N", rules.script])
            message = f"the launch string has {word!r} where the contest knows only `{expected}`"
            raise refuse("BLD046", LAUNCH, 0, message, "quote a value that holds blanks, and leave all else out")
    if found[:1] != rules.launcher[:1]:
        message = f"the launch string does not run `{rules.launcher[0]}`"
        raise refuse("BLD046", LAUNCH, 0, message, "write it in the contest's form")
    return found


def _read_sets(given: Given, sets: list[str]) -> None:
    problems: list[Problem] = []
    seen: set[str] = set()
    for text in sets:
        knob, equals, written = text.partition("=")
        place = (f"--set {text}", 0)
        if not equals:
            problems.append(Problem(*place, "BLD004", "no value", "write --set NAME=VALUE"))
            continue
        if knob in seen:
            problems.append(Problem(*place, "BLD007", f"knob `{knob}` is set twice", "keep one --set of it"))
        seen.add(knob)
        try:
            value = yaml.safe_load(written)
        except yaml.YAMLError:
            problems.append(Problem(*place, "BLD003", f"{written!r} is not a YAML value", "quote the value"))
            continue
        given.add(knob, Value(value, written, "command line", place))
    if problems:
        raise BuildError(problems)
