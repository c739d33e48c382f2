"""What may come out of evaluating a program besides plain data: things from outside by their names, functions and
frozen instances of the recipe, the options that a parser gave.
"""

from __future__ import annotations

import argparse
import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from builder import values
from builder.bindings import Variable
from builder.configs import FunctionNode
from builder.scan import Module

if TYPE_CHECKING:
    from builder.code import Code
    from builder.flow import Flow

Constant = tuple[Any, tuple[str, ...]]  # a value, and the knobs that had a part in it
HOLDERS = (tuple, *values.MUTABLE)  # values that may hold what can change

# Builtins that only read what they are given.
READERS = frozenset({"all", "any", "dict", "enumerate", "len", "list", "max", "min", "print", "repr", "set", "sorted"})
READERS |= {"str", "sum", "tuple", "zip"}


@dataclass(frozen=True)
class External:
    """Something from outside of the recipe, by its dotted name."""

    path: str


@dataclass(frozen=True)
class Version:
    """`sys.version_info` of the contest's machine, of which major and minor are known."""

    major: int
    minor: int


@dataclass(frozen=True, eq=False)
class Instance:
    """An instance of a frozen dataclass of the recipe."""

    variable: Variable
    node: ast.ClassDef
    fields: dict[str, Any]


@dataclass(frozen=True, eq=False)
class Function:
    """A function of the recipe as a value: calling it evaluates its body."""

    evaluator: Code
    node: ast.FunctionDef | ast.Lambda

    def __call__(self, *positional: Any, **named: Any) -> Any:
        """Evaluate a call. Raises UnknownValueError and RaisedError."""
        return self.evaluator.facts.invoke(self, self.evaluator.context, list(positional), named)


@dataclass(frozen=True)
class Parsed:
    """A call in straight code that gave the options: where, what came out at once, and what is left in the end."""

    module: Module
    call: ast.expr
    flow: Flow
    target: ast.Name
    first: dict[str, Any]
    namespace: argparse.Namespace
    knobs: tuple[str, ...]
    rest: list[str] | None = None  # of `args, rest = parser.parse_known_args()`


def argument_of(call: ast.Call, function: FunctionNode | ast.Lambda, name: str) -> ast.expr | None:
    """What a call without unpacked arguments writes for a parameter; None where it leaves it to the default."""
    names = [one.arg for one in (*function.args.posonlyargs, *function.args.args)]
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    if name in names and names.index(name) < len(call.args):
        return call.args[names.index(name)]
    return None


def default_of(function: FunctionNode | ast.Lambda, name: str) -> ast.expr | None:
    """The default of a parameter."""
    positional = [*function.args.posonlyargs, *function.args.args]
    for one, default in zip(reversed(positional), reversed(function.args.defaults), strict=False):
        if one.arg == name:
            return default
    for one, written in zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True):
        if one.arg == name:
            return written
    return None


def reachable(value: Any) -> list[Any]:
    """The mutable objects in a value."""
    if isinstance(value, dict):
        return [value, *(inner for item in value.values() for inner in reachable(item))]
    if isinstance(value, (list, tuple, set)):
        own = [] if isinstance(value, tuple) else [value]
        return [*own, *(inner for item in value for inner in reachable(item))]
    return [value] if isinstance(value, values.MUTABLE) else []
