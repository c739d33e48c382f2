"""The launch command and the expected kernel launches, filled in from the knobs."""

from __future__ import annotations

import ast
import string
from dataclasses import dataclass
from typing import Any

from builder import values
from builder.bindings import Bindings
from builder.errors import BuildError, refuse
from builder.knobs import Config
from builder.names import Names, is_jit
from builder.settings import Settings
from builder.shake import Kept


@dataclass(frozen=True)
class Kernel:
    """A kernel in the artifact: its launches per update and rank (None: no formula), and where it is defined."""

    launches: int | None
    place: str


class _Knobs(values.Evaluator):
    """Arithmetic over knobs."""

    def __init__(self, config: Config | None) -> None:
        super().__init__()
        self.config = config

    def name(self, node: ast.Name) -> Any:
        """A knob or derived value of the config."""
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
    except (ValueError, values.UnknownValueError) as error:
        message = f"the launch command cannot be filled in: {error}"
        raise settings.refuse("launch", message, "write knobs as {name}", "BLD046") from error
    command = "".join(pieces)
    if "\n" in command or command != command.strip():
        raise settings.refuse("launch", "the launch command is not one line", "write it in one line", "BLD046")
    return command


def kernels(
    settings: Settings, config: Config | None, bindings: Bindings, kept: Kept, names: Names
) -> dict[str, Kernel]:
    """The kernels that the artifact has, by their names in it."""
    known = _kernel_definitions(bindings)
    problems = []
    for name, entry in settings.kernels.items():
        if name not in known:
            listed = ", ".join(sorted(known)) or "none"
            problems += refuse(
                "BLD046",
                settings.name,
                entry.line,
                f"there is no kernel `{name}`",
                f"the recipe's kernels are: {listed}",
            ).problems
    found: dict[str, Kernel] = {}
    kept_nodes = {part.node: part for part in kept.parts}
    for name, nodes in sorted(known.items()):
        for node, module_name in nodes:
            if node not in kept_nodes:
                continue
            part = kept_nodes[node]
            launches = None
            if name in settings.kernels:
                entry = settings.kernels[name]
                try:
                    value = _Knobs(config).evaluate(ast.parse(str(entry.value), mode="eval").body)
                    if type(value) is not int or value < 0:
                        raise values.UnknownValueError(node, f"{value!r} is not a number of launches")
                    launches = value
                except (values.UnknownValueError, SyntaxError) as error:
                    message = f"the formula `{entry.value}` of `{name}` cannot be evaluated: {error}"
                    problems += refuse(
                        "BLD046", settings.name, entry.line, message, "write arithmetic over knobs"
                    ).problems
            del module_name
            found[name] = Kernel(launches, f"{part.module.source.name}:{part.line}")
    if problems:
        raise BuildError(problems)
    return found


def _kernel_definitions(bindings: Bindings) -> dict[str, list[tuple[ast.AST, str]]]:
    found: dict[str, list[tuple[ast.AST, str]]] = {}
    for module in bindings.modules.values():
        for part in module.parts:
            if isinstance(part.node, ast.FunctionDef) and any(
                is_jit(bindings, module, d) for d in part.node.decorator_list
            ):
                found.setdefault(part.node.name, []).append((part.node, module.name))
    return found
