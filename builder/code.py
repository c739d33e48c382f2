"""Evaluating the code of a program: names mean what they mean in it, and the environment, the command line and the
contest's machine are known.
"""

from __future__ import annotations

import argparse
import ast
import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from builder import arguments, plain, trees, values
from builder.bindings import Outside, Variable
from builder.environment import ENVIRON, Environ
from builder.objects import Constant, External, Function, Instance, Version
from builder.scan import InPackage, Module
from builder.scopes import Occurrence, Scope
from builder.values import UNKNOWN, RaisedError, Run, UnknownValueError

if TYPE_CHECKING:
    from builder.facts import Facts

MACHINE = "the contest's machine"
ADDING = ("add_argument", "add_argument_group", "add_parser", "add_subparsers")  # to a parser of the command line


class Code(values.Frame):
    """Evaluates code of one module: names mean what they mean in the program."""

    def __init__(
        self,
        facts: Facts,
        module: Module,
        variables: dict[str, Any],
        run: Run | None = None,
        scope: Scope | None = None,
        closure: tuple[dict[str, Any], ...] = (),
    ) -> None:
        super().__init__(variables, run)
        self.facts = facts
        self.module = module
        self.scope = scope  # of the function whose body runs
        self.closure = closure

    # Names

    def name(self, node: ast.Name) -> Any:
        """A variable of a function around, a local that has one value, or what the module means by the name."""
        occurrence = self.module.by_node.get(node)
        unknown = UnknownValueError(node, f"the value of `{node.id}` is not known")
        if occurrence is None:
            raise unknown
        home = occurrence.home()
        if home is self.module.scope:
            return self.global_name(node, occurrence)
        if home is self.scope:
            raise unknown
        for variables in self.closure:
            if node.id in variables:
                if variables[node.id] is UNKNOWN:
                    raise unknown
                return variables[node.id]
        return self.facts.local(self.module, occurrence, self.context)

    def global_name(self, node: ast.Name, occurrence: Occurrence) -> Any:
        """What a name means at the module's level."""
        reference = self.facts.bindings.of(self.module, occurrence)
        if reference is None:
            return self.builtin(node, occurrence)
        if reference.attributes:
            raise UnknownValueError(node, "a module is no value")
        return self.meaning(node, reference.meaning)

    def is_fixed(self, default: ast.expr) -> bool:
        """Whether a default, evaluated when its function was made, has the same value at any later time."""
        for child in trees.nodes(default):
            occurrence = self.module.by_node.get(child) if isinstance(child, ast.Name) else None
            if occurrence is None:
                continue
            reference = self.facts.bindings.of(self.module, occurrence)
            if occurrence.home() is not self.module.scope:
                return False
            if reference and isinstance(reference.meaning, Variable):
                meaning = reference.meaning
                if len(self.facts.bindings.modules[meaning.module].scope.bound.get(meaning.name, ())) != 1:
                    return False
        return True

    def builtin(self, node: ast.Name, occurrence: Occurrence) -> Any:
        """A builtin function or exception as a value."""
        if self.facts.bindings.is_builtin(self.module, occurrence):
            if node.id in values.FUNCTIONS:
                return values.FUNCTIONS[node.id]
            if node.id in values.EXCEPTIONS:
                return values.EXCEPTIONS[node.id]
        raise UnknownValueError(node, f"`{node.id}` is not evaluated")

    def meaning(self, node: ast.AST, meaning: object) -> Any:
        """The value of a variable of the recipe, or of something from outside."""
        if isinstance(meaning, Variable):
            return self.facts.variable(meaning, node, self.context)
        if isinstance(meaning, Outside):
            return self.external(node, meaning.path)
        if isinstance(meaning, InPackage):
            raise UnknownValueError(node, "a module is no value")
        raise UnknownValueError(node, "the value is not known")

    def attribute(self, node: ast.Attribute) -> Any:
        """A knob of the config, or a variable of a module of the recipe by its dotted name."""
        facts = self.facts
        if facts.config is not None and facts.configs.is_config(self.module, node.value):
            try:
                value = facts.config.read(node.attr)
            except KeyError as error:
                raise UnknownValueError(node, f"the config has no `{node.attr}`") from error
            self.context.use(node.attr)
            return value
        occurrence = self.module.by_node.get(trees.root_of(node))
        reference = self.facts.bindings.of(self.module, occurrence) if occurrence else None
        used = reference.attributes if reference else 0
        if occurrence and reference and used and occurrence.attributes[used - 1] is node:
            return self.meaning(node, reference.meaning)
        raise UnknownValueError(node, f"the value of `.{node.attr}` is not known")

    def external(self, node: ast.AST, path: str) -> Any:
        """Something from outside: known, or by its name."""
        facts = self.facts
        if path == "os.environ":
            return ENVIRON
        if path == "sys.argv":
            self.context.use("sys.argv")
            self.context.read.append("sys.argv")
            script = facts.program.settings.profile.launch.script
            return [script, *facts.environment.arguments]  # made anew each time: changing it is not evaluated
        if path.startswith("argparse.") and path.removeprefix("argparse.") in arguments.NAMES:
            return getattr(argparse, path.removeprefix("argparse."))
        if path.startswith("math.") and not callable(values.MATH.get(path.removeprefix("math."), len)):
            return values.MATH[path.removeprefix("math.")]
        known = {"sys.platform": "linux", "os.name": "posix", "typing.TYPE_CHECKING": False, "sys.byteorder": "little"}
        if path in known or path == "sys.version_info":
            self.context.use(MACHINE)
            return facts.version if path == "sys.version_info" else known[path]
        return External(path)

    def path(self, node: ast.expr) -> str:
        """The dotted name of something from outside; "" for anything else."""
        return self.facts.bindings.outside_path_of(self.module, node)

    def reads_environment(self, node: ast.expr) -> bool:
        """Whether an expression is the environment, or a function that reads it, under whatever name."""
        path = self.path(node)
        if path:
            return path.startswith(("os.environ", "os.getenv", "sys.argv"))
        try:
            value = self.evaluate(node)
        except (UnknownValueError, RaisedError):
            return isinstance(node, ast.Attribute) and self.reads_environment(node.value)
        return value is ENVIRON or (isinstance(value, External) and value.path.startswith(("os.environ", "os.getenv")))

    # Values that are no plain data

    def member(self, node: ast.Attribute, owner: Any) -> Any:
        """Fields of instances, members of outside modules, parts of the version."""
        match owner:
            case Environ() if node.attr == "get":
                return External("os.environ.get")
            case External():
                return self.external(node, f"{owner.path}.{node.attr}")
            case Version() if node.attr in ("major", "minor"):
                return getattr(owner, node.attr)
            case Instance():
                return self.field(node, owner)
            case plain.Settings():
                return self.setting(node, owner.variable, owner.attributes)
            case Variable():
                definition = self.facts.bindings.definition(owner)
                listed = self.facts.listed.get(definition) if isinstance(definition, ast.ClassDef) else None
                if listed is not None:
                    return self.setting(node, owner, listed)
            case argparse.Namespace() if hasattr(argparse.Namespace, node.attr):
                raise UnknownValueError(node, f"the value of `.{node.attr}` is not known")
            case argparse.Namespace():
                self.check_option(node, owner, node.attr)
        return super().member(node, owner)

    def check_option(self, node: ast.AST, owner: argparse.Namespace, name: str) -> None:
        """Refuse to read (or ask for) an option that may have another value at this place, or be there or not."""
        if vars(owner).get(name) is UNKNOWN or (name not in owner and self.facts.may_hold(owner, name)):
            raise UnknownValueError(node, f"the option `{name}` is set elsewhere")
        parsed = self.facts.parsed.get(id(owner))
        if parsed is None:
            return
        self.context.use(*parsed.knobs)
        if parsed.call in self.facts.escaped and self is not parsed.flow:
            raise UnknownValueError(node, "the options reach code that cannot be followed")
        moves = name in self.facts.stored and id(owner) not in self.facts.settled and self is not parsed.flow
        changes = isinstance(vars(owner).get(name), values.MUTABLE) and not self.facts.is_only_read_attribute(name)
        if moves or changes:
            raise UnknownValueError(node, f"the option `{name}` is set elsewhere")

    def check_options(self, node: ast.AST, owner: argparse.Namespace) -> None:
        """Refuse to read all options at once where one may have another value, or more may be there."""
        for name in {*vars(owner), *self.facts.stored}:
            self.check_option(node, owner, name)
        if self.facts.may_hold(owner, ""):
            raise UnknownValueError(node, "which options there are is not known")

    def setting(self, node: ast.Attribute, owner: Variable, listed: dict[str, Constant]) -> Any:
        """An attribute of a class that only lists settings, or of its instance."""
        value, knobs = listed.get(node.attr, (UNKNOWN, ()))
        if value is UNKNOWN or not self.facts.keeping.keeps(owner, node.attr):
            raise UnknownValueError(node, f"the value of `.{node.attr}` is not known")
        self.context.use(*knobs)
        return value

    def field(self, node: ast.Attribute, owner: Instance) -> Any:
        """A field or property of a frozen dataclass."""
        if node.attr in owner.fields:
            return owner.fields[node.attr]
        for statement in owner.node.body:
            match statement:
                case ast.FunctionDef(name=name, decorator_list=[ast.Name(id="property")]) if name == node.attr:
                    home = self.facts.program.modules[owner.variable.module]
                    return self.facts.invoke(
                        Function(self.facts.evaluator(home, self.context), _undecorated(statement, home)),
                        self.context,
                        [owner],
                        {},
                    )
        raise UnknownValueError(node, f"the value of `.{node.attr}` is not known")

    def item(self, node: ast.Subscript, owner: Any, key: Any) -> Any:
        """`os.environ["X"]`, `sys.version_info[0]`, or an item of a container."""
        if owner is ENVIRON:
            value = self.facts.read_variable(self.module, node, self.context, key)
            if value is None:
                raise RaisedError(node, "KeyError", f"the variable {key} is not set", KeyError)
            return value
        if isinstance(owner, Version):
            known = {0: owner.major, 1: owner.minor}
            if isinstance(key, int) and key in known:
                return known[key]
            if key == slice(None, 2, None) or key == slice(0, 2, None):
                return (owner.major, owner.minor)
            raise UnknownValueError(node, "only major and minor version of the contest's Python are known")
        if not isinstance(owner, (str, bytes, tuple, list, dict, range)):
            raise UnknownValueError(node, "an item of such a value is not known")
        if key == 0 and self.path(node.value) == "sys.argv":
            raise UnknownValueError(node, "where the program lies is no setting")
        return super().item(node, owner, key)

    def compare(self, node: ast.Compare, op: ast.cmpop, left: Any, right: Any) -> Any:
        """`"X" in os.environ`, comparisons of the version, and of plain values."""
        if right is ENVIRON and isinstance(op, (ast.In, ast.NotIn)):
            is_set = self.facts.read_variable(self.module, node, self.context, left) is not None
            return is_set is isinstance(op, ast.In)
        if isinstance(left, Version) and isinstance(right, tuple):
            here = (left.major, left.minor)
            if len(right) > 2 and right[:2] == here:
                raise UnknownValueError(node, "only major and minor version of the contest's Python are known")
            behind = (*here, 0) if len(right) <= 2 else here  # the version has more numbers than these two
            return self._compute(node, values.COMPARE[type(op)], behind, right)
        return super().compare(node, op, left, right)

    def exception(self, node: ast.expr) -> type[BaseException] | None:
        """Builtin exceptions that nothing hides, and argparse's own."""
        if self.path(node) == "argparse.ArgumentTypeError":
            return argparse.ArgumentTypeError
        if self.facts.bindings.names_builtin(self.module, node):
            return super().exception(node)
        return None

    # Functions

    def define(self, node: ast.FunctionDef) -> None:
        """A function inside of a function."""
        self.variables[node.name] = Function(self, node)

    def _lambda(self, node: ast.Lambda) -> Any:
        return Function(self, node)

    def function(self, node: ast.expr) -> Callable[..., Any] | None:
        """Builtins that nothing in the recipe hides, and the exact functions of math."""
        if isinstance(node, ast.Name):
            occurrence = self.module.by_node.get(node)
            if node.id in self.variables or occurrence is None:
                return None
            builtin = occurrence.home() is self.module.scope and self.facts.bindings.is_builtin(self.module, occurrence)
            return values.FUNCTIONS.get(node.id) if builtin else None
        path = self.path(node)
        found = values.MATH.get(path.removeprefix("math.")) if path.startswith("math.") else None
        return found if callable(found) else None

    def method(self, node: ast.Attribute, owner: Any) -> Callable[..., Any] | None:
        """Methods of the environment and of plain values."""
        if owner is ENVIRON and node.attr == "get":
            return self.getter(node)
        if owner is ENVIRON and node.attr == "setdefault":
            return self.setter(node)
        return super().method(node, owner)

    def getter(self, node: ast.AST) -> Callable[..., Any]:
        """`os.environ.get` and `os.getenv`."""

        def get(key: Any, default: Any = None) -> Any:
            value = self.facts.read_variable(self.module, node, self.context, key)
            return default if value is None else value

        return get

    def setter(self, node: ast.Attribute) -> Callable[..., Any]:
        """`os.environ.setdefault`. That it also sets the variable is for the statement around to keep; what else reads
        the variable has to know of it.
        """

        def get(key: Any, default: Any = None) -> Any:
            writes = self.facts.environment.writes.get(key, []) if isinstance(key, str) else []
            known = any(isinstance(one.node, ast.Call) and one.node.func is node for one in writes)
            if not known and (not isinstance(key, str) or key not in self.facts.environment.given):
                raise UnknownValueError(node, "what this sets is not known")
            only = len(writes) == 1 and isinstance(writes[0].value, ast.Constant)
            if known and only and key not in self.facts.environment.given:
                self.facts.read_variable(self.module, node, self.context, key, written=False)
                return default
            return self.facts.read_variable(self.module, node, self.context, key)

        return get

    def _check_arguments(
        self, node: ast.Call, function: Callable[..., Any], given: list[Any], named: dict[str, Any]
    ) -> None:
        if getattr(function, "__qualname__", "").startswith(("Code.getter.", "Code.setter.")):
            return
        super()._check_arguments(node, function, given, named)

    def _call(self, node: ast.Call) -> Any:
        path = self.path(node.func)
        if path == "argparse.ArgumentParser":
            return self.make_parser(node)
        if isinstance(node.func, ast.Attribute) and node.func.attr in ADDING:
            owner = self.evaluate(node.func.value)
            if isinstance(owner, values.PARSERS):
                return self.add_to_parser(node, owner)
        return super()._call(node)

    def call(self, node: ast.Call, positional: list[Any], named: dict[str, Any]) -> Any:
        """Calls of functions of the recipe, of frozen dataclasses, and of a few others."""
        path = self.path(node.func)
        if path == "os.getenv":
            return self._compute(node, self.getter(node), *positional, **named)
        if isinstance(node.func, ast.Name):
            found = self.inspect(node, node.func, positional, named)
            if found is not UNKNOWN:
                return found
        callee = self.evaluate(node.func)
        if isinstance(callee, External) and callee.path in ("os.getenv", "os.environ.get"):
            return self._compute(node, self.getter(node), *positional, **named)
        if isinstance(callee, Function):
            return callee(*positional, **named)
        if isinstance(callee, Variable):
            return self.instance(node, callee, positional, named)
        if callee in values.FUNCTIONS.values():
            self._check_arguments(node, callee, positional, named)
            return self._compute(node, callee, *positional, **named)
        raise UnknownValueError(node, "this call is not evaluated")

    def inspect(self, node: ast.Call, name: ast.Name, positional: list[Any], named: dict[str, Any]) -> Any:
        """`getattr`, `hasattr`, `vars` and `isinstance` of values that are known."""
        occurrence = self.module.by_node.get(name)
        if occurrence is None or not self.facts.bindings.is_builtin(self.module, occurrence) or named:
            return UNKNOWN
        match name.id, positional:
            case "getattr", [argparse.Namespace() as owner, str(key), *default] if len(default) <= 1:
                self.check_option(node, owner, key)
                if key in owner or (default and not hasattr(owner, key)):
                    return getattr(owner, key, *default)
            case "hasattr", [argparse.Namespace() as owner, str(key)]:
                self.check_option(node, owner, key)
                return hasattr(owner, key)
            case "vars", [argparse.Namespace() as owner] if self.facts.is_only_read(self.module, node):
                self.check_options(node, owner)
                return dict(vars(owner))
            case "isinstance", [value, kind] if kind in (int, float, str, bool, list, tuple, dict):
                if isinstance(value, (*values.PLAIN, list, tuple, dict)):
                    return isinstance(value, kind)
        return UNKNOWN

    def instance(self, node: ast.Call, variable: Variable, positional: list[Any], named: dict[str, Any]) -> Any:
        """An instance of a frozen dataclass of the recipe."""
        definition = self.facts.bindings.definition(variable)
        home = self.facts.program.modules[variable.module]
        outer = self.facts.evaluator(home, self.context)
        unknown = UnknownValueError(node, f"an instance of `{variable.name}` is not evaluated")
        listed = self.facts.listed.get(definition) if isinstance(definition, ast.ClassDef) else None
        if listed is not None and not positional and not named:
            return plain.Settings(variable, listed)
        if (
            not isinstance(definition, ast.ClassDef)
            or not _is_frozen(definition, outer)
            or not self.facts.instances_stay
        ):
            raise unknown
        fields: dict[str, Any] = {}
        check: ast.FunctionDef | None = None
        for statement in definition.body:
            match statement:
                case ast.AnnAssign(target=ast.Name(id=field_name), annotation=annotation, value=value):
                    if any(word in ast.unparse(annotation) for word in ("ClassVar", "InitVar", "KW_ONLY")):
                        raise unknown
                    if positional:
                        fields[field_name] = positional.pop(0)
                    elif field_name in named:
                        fields[field_name] = named.pop(field_name)
                    elif value is not None and outer.is_fixed(value):
                        fields[field_name] = outer.evaluate(value)
                    else:
                        raise unknown
                    if not (values.is_constant(fields[field_name]) or isinstance(fields[field_name], Instance)):
                        raise unknown
                case ast.FunctionDef(name="__post_init__"):
                    check = statement
                case ast.FunctionDef(name=name) if name.startswith("__"):
                    raise unknown
                case ast.FunctionDef() | ast.Expr(value=ast.Constant()):
                    pass
                case _:
                    raise unknown
        if positional or named:
            raise unknown
        made = Instance(variable, definition, fields)
        if check is not None:
            self.facts.invoke(Function(outer, check), self.context, [made], {})
        return made

    # Parsers

    def make_parser(self, node: ast.Call) -> Any:
        """`argparse.ArgumentParser(...)`, without its texts."""
        if len(node.args) > len(arguments.TEXTS) or any(isinstance(one, ast.Starred) for one in node.args):
            raise UnknownValueError(node, "a parser with such positional arguments is not evaluated")
        named = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                raise UnknownValueError(node, "a parser with unpacked arguments is not evaluated")
            if keyword.arg not in arguments.FOR_PEOPLE:
                named[keyword.arg] = self.evaluate(keyword.value)
        return self._compute(node, arguments.make, named)

    def add_to_parser(self, node: ast.Call, owner: Any) -> Any:
        """`parser.add_argument(...)`, whose value is None to all that follows, or what makes a group or a parser of a
        command.
        """
        if not self.context.owns(owner):
            raise UnknownValueError(node, "this changes a value that others see")
        self.context.change(owner)
        assert isinstance(node.func, ast.Attribute)
        if node.func.attr == "add_argument_group":
            if any(keyword.arg not in arguments.FOR_PEOPLE for keyword in node.keywords):
                raise UnknownValueError(node, "a group with such arguments is not evaluated")
            return self._compute(node, owner.add_argument_group)
        before = dict(self.context.used)
        self.context.used.clear()
        words = self._items(node.args)
        named: dict[str, Any] = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                named.update(self.unpacked(keyword.value))
            elif keyword.arg not in arguments.FOR_PEOPLE:
                named[keyword.arg] = self.converter(keyword) or self.evaluate(keyword.value)
        knobs = tuple(self.context.used)
        self.context.used = {**before, **self.context.used}
        if node.func.attr in ("add_parser", "add_subparsers"):
            return self.add_commands(node, owner, words, named)
        kind = named.get("type")
        if isinstance(kind, Function):
            named["type"] = arguments.converter(kind, RaisedError)
        elif kind is not None and kind not in (int, float, str, bool, *arguments.CASES.values()):
            raise UnknownValueError(node, "an option of this type is not evaluated")
        if isinstance(named.get("action"), type) and named["action"] is not argparse.BooleanOptionalAction:
            raise UnknownValueError(node, "an option with an action of its own is not evaluated")
        action = self._compute(node, owner.add_argument, *words, **named)
        self.facts.action_places[action] = self.facts.place(self.module, node), knobs
        return None

    def converter(self, keyword: ast.keyword) -> Callable[[str], str] | None:
        """`type=str.lower` and the like; None for anything else."""
        match keyword:
            case ast.keyword(arg="type", value=ast.Attribute(value=ast.Name(id="str") as name, attr=case)):
                occurrence = self.module.by_node.get(name)
                if occurrence is not None and self.facts.bindings.is_builtin(self.module, occurrence):
                    return arguments.CASES.get(case)
        return None

    def add_commands(self, node: ast.Call, owner: Any, words: list[Any], named: dict[str, Any]) -> Any:
        """`parser.add_subparsers(...)`, and `.add_parser(...)` of what that gives."""
        assert isinstance(node.func, ast.Attribute)
        adds = node.func.attr == "add_parser"
        if adds is not isinstance(owner, argparse._SubParsersAction) or not set(named) <= {
            "dest",
            "required",
            "aliases",
        }:
            raise UnknownValueError(node, "a parser of commands with such arguments is not evaluated")
        made = self._compute(node, getattr(owner, node.func.attr), *words, **named)
        if not adds:
            self.facts.action_places[made] = self.facts.place(self.module, node), ()
        return made

    def command_line(
        self, node: ast.Call, function: Callable[..., Any], positional: list[Any], named: dict[str, Any]
    ) -> Any:
        """`parse_args` and the like."""
        name = function.__name__
        if name not in ("parse_args", "parse_known_args"):
            return self._compute(node, function, *positional, **named)
        words = positional[0] if positional else named.pop("args", None)
        if len(positional) > 1 or named:
            raise UnknownValueError(node, "parsing into a namespace that is there is not evaluated")
        self.context.use("sys.argv")
        parser = function.__self__  # type: ignore[attr-defined]
        given = self.facts.environment.arguments if words is None else words
        try:
            result, options = arguments.parse(parser, given, name == "parse_known_args")
        except arguments.CommandLineError as error:
            raise RaisedError(node, "SystemExit", f"the program's own parser says: {error}", SystemExit) from error
        for option in options:
            self.facts.options[option.name] = option
            place, knobs = self.facts.action_places[option.action]
            self.facts.option_places[option.name], self.facts.option_uses[option.name] = place, knobs
        if name == "parse_known_args":
            result = (self.context.own(result[0]), self.context.own(result[1]))
        return self.context.own(result)


def _is_frozen(node: ast.ClassDef, outer: Code) -> bool:
    match node.decorator_list:
        case [ast.Call(func=func, args=[], keywords=keywords)] if not node.bases and not node.keywords:
            frozen = any(
                keyword.arg == "frozen" and isinstance(keyword.value, ast.Constant) and keyword.value.value is True
                for keyword in keywords
            )
            return outer.path(func) == "dataclasses.dataclass" and frozen
    return False


def _undecorated(node: ast.FunctionDef, module: Module) -> ast.FunctionDef:
    """The same function without its decorators, in the same scope."""
    plain = copy.copy(node)
    plain.decorator_list = []
    module.scope.scopes[plain] = module.scope.scopes[node]
    return plain
