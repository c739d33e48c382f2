"""The launch command and the expected kernel launches, filled in from the knobs."""

from __future__ import annotations

import ast
import string
from dataclasses import dataclass
from typing import Any

from builder import values
from builder.bindings import Bindings
from builder.errors import BuildError, Problem
from builder.knobs import Config
from builder.names import is_jit
from builder.scan import Part
from builder.settings import Entry, Settings
from builder.shake import Kept


@dataclass(frozen=True)
class Kernel:
    """A kernel in the artifact: its launches per update and rank (None: no formula), where it is defined, and where
    updates differ in their backward passes, its launches by those.
    """

    launches: int | None
    place: str
    by_passes: dict[int, int]


class _Knobs(values.Evaluator):
    """Arithmetic over knobs."""

    def __init__(self, config: Config | None, others: dict[str, Any] | None = None) -> None:
        super().__init__()
        self.config = config
        self.others = others or {}

    def name(self, node: ast.Name) -> Any:
        """A knob or derived value of the config, or a knob of another kind."""
        if node.id in self.others:
            return self.others[node.id]
        try:
            if self.config is None:
                raise KeyError(node.id)
            return self.config.read(node.id)
        except KeyError as error:
            raise values.UnknownValueError(node, f"there is no knob `{node.id}`") from error


def launch_command(settings: Settings, config: Config | None) -> str:
    """The bare launch string, knobs in braces filled in."""
    pieces = []
    try:
        for text, name, form, conversion in string.Formatter().parse(settings.launch):
            pieces.append(text)
            if name is not None:
                if not name.isidentifier() or form or conversion:
                    raise ValueError(f"`{{{name}}}` is not the name of a knob")
                pieces.append(str(_Knobs(config).evaluate(ast.Name(name, ast.Load()))))
    except (ValueError, values.UnknownValueError, values.RaisedError) as error:
        message = f"the launch command cannot be filled in: {error}"
        raise settings.refuse("launch", message, "write knobs as {name}", "BLD046") from error
    return check_command(settings, "".join(pieces))


def check_command(settings: Settings, command: str) -> str:
    """The launch command, when the contest allows its process count and variables."""
    if "\n" in command or command != command.strip():
        raise settings.refuse("launch", "the launch command is not one line", "write it in one line", "BLD046")
    _check_values(settings, command)
    return command


def _check_values(settings: Settings, command: str) -> None:
    """Refuse a process count or a variable's value that the contest does not allow: knobs decide them."""
    rules = settings.profile.launch
    allowed = {**rules.environment, "--nproc_per_node": [str(count) for count in rules.nproc_per_node]}
    for word in command.split():
        name, given, value = word.partition("=")
        if given and name in allowed and value not in allowed[name]:
            message = f"the launch command says {word}; the contest allows {', '.join(allowed[name])}"
            raise settings.refuse("launch", message, "set the knob that it is filled in from", "BLD046")


def kernels(
    settings: Settings, config: Config | None, others: dict[str, Any], bindings: Bindings, kept: Kept
) -> dict[str, Kernel]:
    """The kernels in the artifact, by name.

    Refused: a formula for an unknown kernel, one that cannot be evaluated, and one that expects launches of a kernel
    which nothing in the artifact reaches.
    """
    defined = _definitions(bindings)
    problems: list[Problem] = []
    expected: dict[str, int] = {}
    by_passes: dict[str, dict[int, int]] = {}
    try:
        fewer = _fewer_passes(settings, config, others)
    except _Refused as refused:
        raise settings.refuse("backward_passes", refused.message, refused.remedy, "BLD046") from refused
    for name, entry in settings.kernels.items():
        try:
            if name not in defined:
                listed = ", ".join(sorted(defined)) or "none"
                raise _Refused(f"there is no kernel `{name}`", f"the recipe's kernels are: {listed}")
            expected[name] = _launches(name, entry, config, others)
            by_passes[name] = {
                passes: _launches(name, entry, config, {**others, **knob}) for passes, knob in fewer.items()
            }
            if expected[name] and not any(part in kept.parts for part in defined[name]):
                message = (
                    f"`{name}` should be launched {expected[name]} times per update, but no code that is kept calls it"
                )
                remedy = 'call it, or let its formula say when it is not used: `... if norm == "nki" else 0`'
                raise _Refused(message, remedy)
        except _Refused as refused:
            problems.append(Problem(settings.name, entry.line, "BLD046", refused.message, refused.remedy))
    if problems:
        raise BuildError(problems)
    return {
        name: Kernel(expected.get(name), f"{part.module.source.name}:{part.node.lineno}", by_passes.get(name, {}))
        for name, parts in sorted(defined.items())
        for part in parts
        if part in kept.parts
    }


class _Refused(Exception):  # noqa: N818  (carries a refusal to where its place is known)
    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy


def _fewer_passes(settings: Settings, config: Config | None, others: dict[str, Any]) -> dict[int, dict[str, int]]:
    """Each number of backward passes that an update may have, with the knob set to it; {} where there is but one."""
    if settings.passes is None:
        return {}
    knob, fewest = settings.passes
    least = _launches("backward_passes", fewest, config, others)
    most = _launches("backward_passes", Entry(knob, fewest.line), config, others)
    return {passes: {knob: passes} for passes in range(least, most + 1)} if least < most else {}


def _launches(name: str, entry: Entry, config: Config | None, others: dict[str, Any]) -> int:
    try:
        value = _Knobs(config, others).evaluate(ast.parse(str(entry.value), mode="eval").body)
    except (values.UnknownValueError, values.RaisedError, SyntaxError) as error:
        message = f"the formula `{entry.value}` of `{name}` cannot be evaluated: {error}"
        raise _Refused(message, "write arithmetic over knobs") from error
    if type(value) is not int or value < 0:
        raise _Refused(f"the formula of `{name}` gives {value!r}", "write one that gives a whole number")
    return value


def _definitions(bindings: Bindings) -> dict[str, list[Part]]:
    """All kernels of the recipe, by name."""
    found: dict[str, list[Part]] = {}
    for module in bindings.modules.values():
        for part in module.parts:
            node = part.node
            if isinstance(node, ast.FunctionDef) and any(is_jit(bindings, module, d) for d in node.decorator_list):
                found.setdefault(node.name, []).append(part)
    return found
