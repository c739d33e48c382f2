"""The list of all knobs of a build, whatever their kind, with value and origin; and what is worth a warning."""

from __future__ import annotations

import ast
import fnmatch
import math
import re
from typing import Any

from builder.arguments import Option
from builder.errors import Problem
from builder.facts import Facts
from builder.given import LAUNCH, Given, Value
from builder.knobs import Knob, check_names, reads_environment
from builder.link import Linker
from builder.scan import Part

STARTING = re.compile(  # what starts other programs
    r"os\.(exec\w+|popen|posix_spawnp?|spawn\w+|system)|subprocess\.(Popen|run|(check_)?call|check_output|get\w*output)"
)


def all_knobs(facts: Facts, given: Given) -> dict[str, Knob]:
    """Knobs by name: fields of the config, module constants, environment variables, options."""
    knobs = dict(facts.config.knobs) if facts.config else {}
    for name, (module, attribute) in facts.program.settings.constants.items():
        known = next((value for v, value in facts.constants.items() if (v.module, v.name) == (module, attribute)), None)
        source = facts.program.modules[module].source
        place = (source.name, next(iter(_lines(facts, module, attribute)), 1))
        origin = given.origin(name) if name in given.values else f"default {place[0]}:{place[1]}"
        knobs[name] = Knob(known[0] if known else None, origin, place, "constant")
    for name in sorted(facts.environment.reads, key=lambda name: (facts.environment.reads[name][0], name)):
        unresolved = (facts.environment.given.get(name), (), facts.environment.reads[name][0])
        value, _, place = facts.resolved.get(name, unresolved)
        origin = given.origin(name) if name in given.values else f"default {place[0]}:{place[1]}"
        if name in given.owned:
            origin = "launch string"
        knobs[name] = Knob(_plain(value), origin, place, "environment")
    for option in facts.options.values():
        place = facts.option_places.get(option.name, ("", 0))
        knobs[option.name] = Knob(_plain(option.value), _option_origin(option, given, place), place, "option")
    return knobs


def _lines(facts: Facts, module: str, name: str) -> list[int]:
    home = facts.program.modules[module]
    return [home.source.line(occurrence.start) for occurrence in home.scope.bound.get(name, [])]


def _option_origin(option: Option, given: Given, place: tuple[str, int]) -> str:
    if option.name in given.values:
        return given.origin(option.name)
    return "launch string" if option.given else f"default {place[0]}:{place[1]}"


def _plain(value: Any) -> Any:
    """A value as JSON has it."""
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)  # JSON has no such numbers
    return value if isinstance(value, (bool, int, float, str, type(None))) else repr(value)


def unknown(facts: Facts, given: Given) -> list[Problem]:
    """Values given to what no knob is."""
    fields = list(facts.config.knobs) if facts.config else []
    problems = []
    texts = _texts(facts)  # a variable that only dead code reads is no mistake
    left = {
        name: many
        for name, many in given.values.items()
        if name not in facts.environment.reads and not (name in texts and reads_environment(facts.program))
    }
    problems += check_names(facts.program, Given(left), [*fields, *facts.environment.reads])
    problems += _read_by_others(facts, given)
    words = [word.partition("=")[0] for word in facts.environment.arguments if word.startswith("--")]
    if words and not facts.options and not _reads_arguments(facts):
        message = f"the program has no option `{words[0]}`: it reads no command line"
        problems.append(Problem(_place(given, words[0]), 0, "BLD004", message, "leave it out"))
    return problems


def _texts(facts: Facts) -> set[str]:
    """Every string constant of the program."""
    return {
        node.value
        for module in facts.program.modules.values()
        for node in module.every(ast.Constant)
        if isinstance(node.value, str)
    }


def _read_by_others(facts: Facts, given: Given) -> list[Problem]:
    """Variables that compilers and libraries read: the artifact must set them itself, its launch string cannot."""
    patterns = facts.program.settings.profile.environment.matters
    problems = []
    for name, many in given.values.items():
        matters = any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)
        if matters and name in facts.environment.given and name not in facts.environment.writes:
            message = f"`{name}` is read by others than the program, and the contest's launch string cannot set it"
            remedy = f'set it at the top of the program: os.environ["{name}"] = {many[-1].text!r}'
            problems.append(Problem(*many[-1].place, "BLD046", message, remedy))
    return problems


def _reads_arguments(facts: Facts) -> bool:
    texts = [module.source.text for module in facts.program.modules.values()]
    return any("argv" in text or "argparse" in text for text in texts)


def _place(given: Given, option: str) -> str:
    return given.last(option).place[0] if option in given.values else LAUNCH


def warnings(facts: Facts, given: Given) -> list[str]:
    """Knobs given more than once, and knobs whose default follows another knob."""
    found = []
    for name, many in given.values.items():
        many = [value for value in many if not value.origin.startswith("file ")]  # which the others are to replace
        if len(many) > 1:
            found.append(f"knob `{name}` is given {len(many)} times: {_told(many)}; the last counts")
    for word in sorted({word for word in given.arguments if word.startswith("--")}):
        count = sum(other.partition("=")[0] == word.partition("=")[0] for other in given.arguments)
        if count > 1:
            found.append(f"option `{word}` is given {count} times in the launch string; the program decides")
    for name, (value, used, (file, line)) in sorted(facts.resolved.items()):
        if name not in facts.environment.reads:
            continue  # the command line
        others = [other for other in used if other != name and other in facts.environment.reads]
        if others and name not in given.values:
            followed = ", ".join(f"`{other}`" for other in others)
            found.append(f"{file}:{line}: knob `{name}` is not given and follows {followed}: {value!r}")
    for name, option in sorted(facts.options.items()):
        used = facts.option_uses.get(name, ())
        if used and not option.given:
            file, line = facts.option_places[name]
            followed = ", ".join(f"`{other}`" for other in used)
            found.append(f"{file}:{line}: option `{name}` is not given and follows {followed}: {option.value!r}")
    return found


def not_handed_on(facts: Facts, given: Given, linker: Linker, parts: list[Part]) -> list[str]:
    """Other programs that kept code starts: they find variables of the launch string today, and none tomorrow."""
    lost = {name for name in facts.environment.reads if name in facts.environment.given} - set(given.owned)
    gone = ", ".join(f"`{name}`" for name in sorted(lost - set(facts.environment.writes)))
    found = {}
    for part in parts if gone else ():
        for occurrence in linker.live(part):
            path = linker.bindings.outside_path(part.module, occurrence)
            if occurrence.kind == "load" and STARTING.fullmatch(path):
                source = part.module.source
                found[(source.name, source.line(occurrence.start))] = path
    return [
        f"{file}:{line}: `{path}` starts another program, which finds {gone} no more"
        for (file, line), path in found.items()
    ]


def _told(many: list[Value]) -> str:
    return ", ".join(f"{value.text} ({value.origin})" for value in many)
