"""The knobs of the recipe's config class: every field, with the value that the given settings resolve to and where it
comes from.
"""

from __future__ import annotations

import ast
import difflib
from dataclasses import dataclass
from typing import Any, Literal

from builder import values
from builder.errors import BuildError, Problem
from builder.given import Given
from builder.scan import Module, Program

FORBIDDEN = "a frozen dataclass of plain fields and one-expression properties is all that the builder evaluates"


@dataclass(frozen=True)
class Knob:
    """A frozen knob. `origin` is "default FILE:LINE", or where it was given, and "over" what that replaced."""

    value: Any
    origin: str
    place: tuple[str, int]  # file and line of the origin
    kind: Literal["config", "environment", "option", "constant"] = "config"


@dataclass(frozen=True)
class Config:
    """The config class, evaluated: its fields, and its properties over them."""

    module: Module
    node: ast.ClassDef
    knobs: dict[str, Knob]
    derived: dict[str, Any]  # property -> value
    unknown: dict[str, values.UnknownValueError]  # property -> why it has no exact value

    def read(self, name: str) -> Any:
        """The value of a field or property; KeyError when there is none, Unknown when it cannot be told exactly."""
        if name in self.unknown:
            raise self.unknown[name]
        return self.knobs[name].value if name in self.knobs else self.derived[name]

    def value_names(self) -> list[str]:
        """Everything that can be read."""
        return [*self.knobs, *self.derived, *self.unknown]


def resolve(program: Program, given: Given, problems: list[Problem]) -> Config | None:
    """Evaluate the config class of the build settings.

    All unknown, missing and mistyped knobs are reported together, and with them the `problems` met before.
    """
    settings = program.settings
    if any(not problem.file.startswith("--") for problem in problems):
        raise BuildError(problems)  # what such a file should have given would only seem to be missing
    if settings.config is None:
        problems = problems if reads_environment(program) else [*problems, *check_names(program, given, [])]
        if problems:
            raise BuildError(problems)
        return None
    module, node = _find_class(program)
    fields, properties, check = _members(module, node)
    if not reads_environment(program):
        problems = [*problems, *check_names(program, given, list(fields))]
    knobs: dict[str, Knob] = {}
    for name, declared in fields.items():
        line = module.source.line(module.source.start(declared))
        if name in given.values:
            value = given.last(name)
            wrong, converted = _typed(value.value, declared.annotation)
            if wrong:
                problems.append(Problem(*value.place, "BLD006", f"knob `{name}` {wrong}", "correct the value"))
            origin = given.origin(name)
            if value.origin == "command line" and len(given.values[name]) == 1:
                origin = f"command line, over default {module.source.name}:{line}"
            knobs[name] = Knob(converted, origin, value.place)
        elif declared.value is not None:
            try:
                value_ = _default(declared.value)
            except (values.UnknownValueError, values.RaisedError) as error:
                problems.append(
                    module.problem(
                        module.source.start(declared),
                        "BLD008",
                        f"the default of `{name}` cannot be told: {error}",
                        f"set `{name}` in the config file, or write the default as a literal",
                    )
                )
                continue
            knobs[name] = Knob(value_, f"default {module.source.name}:{line}", (module.source.name, line))
        else:
            files = [value.place[0] for many in given.values.values() for value in many if value.place[1]]
            where = files[0] if files else module.source.name
            message = f"knob `{name}` ({module.source.name}:{line}) has no value"
            problems.append(Problem(where, 0 if files else line, "BLD005", message, f"add a line `{name}: VALUE`"))
    if problems:
        raise BuildError(problems)
    return _derive(module, node, knobs, properties, check)


def check_names(program: Program, given: Given, known: list[str]) -> list[Problem]:
    """Problems with names that are no knob. (Options are checked by the program's own parser.)"""
    problems = []
    known = [*known, *program.settings.constants]
    for name, many in given.values.items():
        if name in known or name.startswith("--"):
            continue
        near = difflib.get_close_matches(name, known, n=1)
        listed = f"the knobs are: {', '.join(known)}" if known else "the program reads no such variable"
        remedy = f"did you mean `{near[0]}`?" if near else listed
        problems.append(Problem(*many[-1].place, "BLD004", f"unknown knob `{name}`", remedy))
    return problems


def reads_environment(program: Program) -> bool:
    """Whether a program reads the environment at all: then freezing tells which variables there are."""
    texts = [module.source.text for module in program.modules.values()]
    return any("environ" in text or "getenv" in text for text in texts)


def _find_class(program: Program) -> tuple[Module, ast.ClassDef]:
    settings = program.settings
    assert settings.config is not None
    name, attribute = settings.config
    module = program.modules.get(name)
    if module is None:
        raise settings.refuse("config", f"module {name} is not found under the recipe's directory", "correct `config`")
    for statement in module.tree.body:
        if isinstance(statement, ast.ClassDef) and statement.name == attribute:
            return module, statement
    raise settings.refuse("config", f"{module.source.name} defines no class {attribute}", "correct `config`")


Members = tuple[dict[str, ast.AnnAssign], dict[str, ast.FunctionDef], ast.FunctionDef | None]


def _members(module: Module, node: ast.ClassDef) -> Members:
    fields: dict[str, ast.AnnAssign] = {}
    properties: dict[str, ast.FunctionDef] = {}
    check: ast.FunctionDef | None = None
    problems = []
    frozen = any("frozen=True" in ast.unparse(decorator) for decorator in node.decorator_list)
    if not frozen or node.bases:
        remedy = "write it as `@dataclass(frozen=True) class ...:` without base classes"
        problems.append(
            module.problem(module.source.start(node), "BLD008", f"class {node.name} is not a frozen dataclass", remedy)
        )
    for statement in node.body:
        match statement:
            case ast.AnnAssign(target=ast.Name(id=name)):
                fields[name] = statement
            case ast.FunctionDef(name="__post_init__"):
                check = statement
            case ast.FunctionDef(decorator_list=[ast.Name(id="property")]):
                properties[statement.name] = statement
            case ast.Expr(value=ast.Constant()) | ast.Pass() | ast.FunctionDef(decorator_list=[]):
                pass  # a method is refused where kept code calls it
            case _:
                what = f"{type(statement).__name__} in class {node.name} is not evaluated"
                problems.append(module.problem(module.source.start(statement), "BLD008", what, FORBIDDEN))
    if problems:
        raise BuildError(problems)
    return fields, properties, check


def _default(node: ast.expr) -> Any:
    return values.Evaluator().evaluate(node)


def _typed(value: Any, annotation: ast.expr) -> tuple[str, Any]:
    """The value in the field's type, and what is wrong with it ("" when nothing). Whole numbers pass as floats, as in
    YAML.
    """
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        annotation = ast.parse(annotation.value, mode="eval").body
    fits, converted = _convert(value, annotation)
    if fits:
        return "", converted
    found = f"found {value!r} of type {type(value).__name__}"
    if isinstance(annotation, ast.Subscript) and ast.unparse(annotation.value) == "Literal":
        return f"must be one of {ast.unparse(annotation.slice).strip('()')}, found {value!r}", value
    if ast.unparse(annotation) == "float" and isinstance(value, str) and _is_float(value):
        found += ": YAML takes a number without a point for text, so write 1.0e-3, not 1e-3"
    return f"must be of type {ast.unparse(annotation)}, {found}", value


def _is_float(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _convert(value: Any, annotation: ast.expr) -> tuple[bool, Any]:
    match annotation:
        case ast.Name(id="float"):
            return type(value) in (int, float), float(value) if type(value) is int else value
        case ast.Name(id="int" | "bool" | "str" as name):
            return type(value).__name__ == name, value
        case ast.Constant(value=None):
            return value is None, None
        case ast.BinOp(op=ast.BitOr()):
            for side in (annotation.left, annotation.right):
                fits, converted = _convert(value, side)
                if fits:
                    return True, converted
        case ast.Subscript(value=ast.Name(id="Literal")):
            choices = annotation.slice.elts if isinstance(annotation.slice, ast.Tuple) else [annotation.slice]
            return any(
                isinstance(c, ast.Constant) and type(c.value) is type(value) and c.value == value for c in choices
            ), value
        case ast.Subscript(value=ast.Name(id="Optional")):
            return (True, None) if value is None else _convert(value, annotation.slice)
        case ast.Subscript(value=ast.Name(id="tuple" | "Tuple")) if isinstance(value, (list, tuple)):
            return _convert_tuple(list(value), annotation.slice)
    return False, value


def _convert_tuple(items: list[Any], inner: ast.expr) -> tuple[bool, Any]:
    kinds = inner.elts if isinstance(inner, ast.Tuple) else [inner]
    if len(kinds) == 2 and isinstance(kinds[1], ast.Constant) and kinds[1].value is ...:
        kinds = [kinds[0]] * len(items)
    if len(kinds) != len(items):
        return False, items
    converted = [_convert(item, kind) for item, kind in zip(items, kinds, strict=True)]
    return all(fits for fits, _ in converted), tuple(value for _, value in converted)


class _Self(values.Frame):
    """Evaluates a method of the config: `self.field` is a knob, `self.property` is evaluated in turn."""

    def __init__(
        self, knobs: dict[str, Knob], properties: dict[str, ast.FunctionDef], instance: str, depth: int = 0
    ) -> None:
        super().__init__({})
        self.knobs = knobs
        self.properties = properties
        self.instance = instance
        self.depth = depth

    def attribute(self, node: ast.Attribute) -> Any:
        """Fields and properties of the config itself."""
        if isinstance(node.value, ast.Name) and node.value.id == self.instance:
            if node.attr in self.knobs:
                return self.knobs[node.attr].value
            if node.attr in self.properties and self.depth < 20:
                return evaluate_property(self.properties[node.attr], self.knobs, self.properties, self.depth + 1)
        return super().attribute(node)


def evaluate_property(
    node: ast.FunctionDef, knobs: dict[str, Knob], properties: dict[str, ast.FunctionDef], depth: int = 0
) -> Any:
    """The value of a property; Unknown where it cannot be told exactly, Raised where it raises."""
    instance = node.args.args[0].arg if node.args.args else ""
    return _Self(knobs, properties, instance, depth).run(node.body)


def _derive(
    module: Module,
    node: ast.ClassDef,
    knobs: dict[str, Knob],
    properties: dict[str, ast.FunctionDef],
    check: ast.FunctionDef | None,
) -> Config:
    derived: dict[str, Any] = {}
    unknown: dict[str, values.UnknownValueError] = {}
    problems = []
    for name, method in properties.items():
        try:
            derived[name] = evaluate_property(method, knobs, properties)
        except values.UnknownValueError as error:
            unknown[name] = error
        except values.RaisedError as error:
            if isinstance(error.node, (ast.Raise, ast.Assert)):
                problems.append(_rejected(module, error, knobs))
            else:
                unknown[name] = values.UnknownValueError(error.node, f"raises {error}")
    if check:
        try:
            evaluate_property(check, knobs, properties)
        except values.RaisedError as error:
            problems.append(_rejected(module, error, knobs))
        except values.UnknownValueError as error:
            place = module.source.start(error.node) if hasattr(error.node, "lineno") else module.source.start(check)  # type: ignore[arg-type]
            message = f"__post_init__ cannot be evaluated: {error.why}"
            problems.append(
                module.problem(place, "BLD008", message, "write the check with plain comparisons over fields")
            )
    if problems:
        raise BuildError(problems)
    return Config(module, node, knobs, derived, unknown)


def _rejected(module: Module, error: values.RaisedError, knobs: dict[str, Knob]) -> Problem:
    """The class's own refusal, at the place where a knob that it quotes was set, else at the check."""
    line = module.source.line(module.source.start(error.node))  # type: ignore[arg-type]
    remedy = f"choose knobs that the check at {module.source.name}:{line} accepts"
    places = [knob.place for name, knob in knobs.items() if f"'{name}'" in error.message]
    file, at = places[0] if places else (module.source.name, line)
    return Problem(file, at, "BLD009", f"these knobs are refused: {error}", remedy)
