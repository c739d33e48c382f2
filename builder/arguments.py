"""The command line: the program's own `argparse` parser, built from its calls and asked what the given words mean.

The parser is the standard library's, so types, choices, defaults and errors are those of the program itself. Texts for
people (help, description) are left out.
"""

from __future__ import annotations

import argparse
import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

FOR_PEOPLE = frozenset({"description", "epilog", "formatter_class", "help", "metavar", "prog", "title", "usage"})
TEXTS = ("prog", "usage", "description", "epilog")  # the first parameters of ArgumentParser, in order
NAMES = frozenset(
    {
        "ArgumentDefaultsHelpFormatter",
        "ArgumentParser",
        "ArgumentTypeError",
        "BooleanOptionalAction",
        "HelpFormatter",
        "Namespace",
        "ONE_OR_MORE",
        "OPTIONAL",
        "PARSER",
        "REMAINDER",
        "RawDescriptionHelpFormatter",
        "RawTextHelpFormatter",
        "SUPPRESS",
        "ZERO_OR_MORE",
    }
)


def _of_plain_text(function: Callable[[str], str]) -> Callable[[str], str]:
    def convert(text: str) -> str:
        if not text.isascii():
            raise CommandLineError(f"what {function} gives for {text!r} depends on the version of Python")
        return function(text)

    return convert


# Methods of `str` as types of options.
CASES = {name: _of_plain_text(getattr(str, name)) for name in ("lower", "upper", "strip")}


class CommandLineError(Exception):
    """The given words are refused by the program's own parser."""


class Parser(argparse.ArgumentParser):
    """A parser that raises where the program's own would print and exit."""

    def error(self, message: str) -> NoReturn:
        """Raise CommandLineError."""
        raise CommandLineError(message)

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        """Raise CommandLineError."""
        raise CommandLineError(message or "the program prints something and exits")


@dataclass(frozen=True)
class Option:
    """An option of a parser: its name as users write it, and what came out for it."""

    name: str
    dest: str
    value: Any
    given: bool
    action: argparse.Action


def make(named: dict[str, Any]) -> Parser:
    """A parser made by these arguments; TypeError where argparse refuses them."""
    return Parser(**named)


def parse(parser: argparse.ArgumentParser, words: list[str], known_only: bool) -> tuple[Any, list[Option]]:
    """What `parse_args` (or `parse_known_args`) gives for these words, and every option with its value."""
    result: Any = parser.parse_known_args(list(words)) if known_only else parser.parse_args(list(words))
    namespace = result[0] if known_only else result
    given = _given(parser, words)
    options = []
    for action in _actions(parser, namespace):
        if not isinstance(action, argparse._HelpAction) and action.dest in namespace:
            value = getattr(namespace, action.dest)
            if isinstance(action, argparse._StoreFalseAction):
                value = not value  # whether `--no-clip` holds, not what it leaves in `clip`
            options.append(Option(_name(action), action.dest, value, action.dest in given, action))
    return result, options


def _actions(parser: argparse.ArgumentParser, namespace: argparse.Namespace) -> list[argparse.Action]:
    """The parser's actions, those of a command only where it is the one that was chosen, or which one is not kept."""
    found: dict[str, argparse.Action] = {}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            chosen = getattr(namespace, action.dest, None)
            for inner in [action.choices[chosen]] if chosen in action.choices else action.choices.values():
                found.update({one.dest: one for one in _actions(inner, namespace)})
        if action.dest != argparse.SUPPRESS:
            found.setdefault(action.dest, action)
    return list(found.values())


def _name(action: argparse.Action) -> str:
    return next((text for text in action.option_strings if text.startswith("--")), action.dest)


def _given(parser: argparse.ArgumentParser, words: list[str]) -> frozenset[str]:
    """The destinations that the words set: those that are left when nothing has a default."""
    bare = copy.deepcopy(parser)
    waiting: list[argparse.ArgumentParser] = [bare]
    while waiting:
        one = waiting.pop()
        one._defaults.clear()
        for action in one._actions:
            if isinstance(action, argparse._SubParsersAction):
                waiting += action.choices.values()
            action.default = argparse.SUPPRESS
    return frozenset(vars(bare.parse_known_args(list(words))[0]))


def converter(function: Callable[[str], Any], raised: type[Exception]) -> Callable[[str], Any]:
    """A `type=` function of the program, its errors told as argparse expects them; `raised` is how they come."""

    def convert(text: str) -> Any:
        try:
            return function(text)
        except raised as error:
            kind = getattr(error, "kind", None)
            if kind is not None and issubclass(kind, (ValueError, TypeError, argparse.ArgumentTypeError)):
                raise kind(getattr(error, "message", "")) from error
            raise

    convert.__name__ = getattr(function, "__name__", "value")
    return convert
