"""Launch strings: read by a grammar and run as a list of words, never by a shell.

    parse("NEURON_LOGICAL_NC_CONFIG=2 torchrun --standalone --nproc_per_node=4 train.py", profile.launch)

A contest's grammar is strict: `NAME=VALUE... LAUNCHER... --nproc_per_node=N SCRIPT [flags]`, with the names, values,
launcher words, process counts and script of its profile, and plain words only: what a shell would treat specially
(quotes, expansion, pipes, redirects, chaining, background) is refused, not interpreted. An author's own launch string
(`parse_local`) may set any variable, quote values and start a module.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

from scorer.contest import LaunchRules

_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
_PLAIN_WORD = re.compile(r"[A-Za-z0-9_./=,:+@%-]+")
NPROC = "--nproc_per_node"  # as torchrun itself calls it
_NPROC = re.compile(r"--nproc[-_]per[-_]node=?(.*)")


class LaunchError(ValueError):
    """A launch string that is refused: the word at fault (1 is the first), what was expected, and what to do."""

    def __init__(self, text: str, position: int, word: str, expected: str, remedy: str) -> None:
        self.text, self.position, self.word, self.expected, self.remedy = text, position, word, expected, remedy
        found = f"word {position}, {word!r}" if word else f"ends after word {position - 1}"
        super().__init__(f"launch string: {found}: expected {expected}\n  {remedy}\n  in: {text}")


@dataclass(frozen=True)
class LaunchPlan:
    """What a launch string says. `program` is `["train.py", "--flag", ...]` or `["-m", "module", ...]`."""

    text: str
    environment: dict[str, str]
    launcher: list[str]  # without the process count: ["torchrun", "--standalone"]
    nproc_per_node: int
    program: list[str]
    nproc_option: str = NPROC  # of the launcher: written before `=` and the process count


def parse(text: str, rules: LaunchRules) -> LaunchPlan:
    """Read a contest's launch string; LaunchError names the first word that its grammar does not allow."""
    words = _plain_words(text)
    environment: dict[str, str] = {}
    while words.current and (match := _ASSIGNMENT.fullmatch(words.current)):
        name, value = match.groups()
        allowed = rules.environment.get(name)
        if allowed is None:
            names = ", ".join(sorted(rules.environment)) or "no variables"
            raise words.error(f"{rules.launcher[0]!r} or one of the variables {names}", f"do not set {name}")
        if value not in allowed:
            raise words.error(f"{name}={{{'|'.join(allowed)}}}", "give the variable one of these values")
        if name in environment:
            raise words.error(f"{name} once", "set each variable once")
        environment[name] = value
        words.advance()
    for name in rules.required_environment:
        if name not in environment:
            allowed_values = "|".join(rules.environment[name])
            raise words.error(f"{name}={{{allowed_values}}} before the launcher", f"put {name}=VALUE first")
    for expected in rules.launcher:
        if words.current != expected:
            raise words.error(repr(expected), f"start the program with: {' '.join(rules.launcher)}")
        words.advance()
    nproc = words.current.removeprefix(f"{rules.nproc_option}=")
    counts = [str(count) for count in rules.nproc_per_node]
    if nproc == words.current or nproc not in counts:
        raise words.error(
            f"{rules.nproc_option}={{{'|'.join(counts)}}}", "write the process count in exactly this form"
        )
    words.advance()
    if words.current != rules.script:
        raise words.error(repr(rules.script), f"name {rules.script} after the process count; no other launcher option")
    program = words.rest()
    if len(program) > 1 and not rules.flags:
        words.advance()
        raise words.error("the end", f"{rules.script} takes no flags in this contest; build the values into the file")
    return LaunchPlan(text.strip(), environment, list(rules.launcher), int(nproc), program, rules.nproc_option)


def parse_local(text: str) -> LaunchPlan:
    """Read an author's string: `NAME=VALUE... torchrun [--standalone] --nproc_per_node=N (FILE | -m MODULE) ...`.

    Quotes group words as in a POSIX shell; nothing is expanded, and no operator is accepted.
    """
    words = _quoted_words(text)
    environment: dict[str, str] = {}
    while words.current and (match := _ASSIGNMENT.fullmatch(words.current)):
        if match[1] in environment:
            raise words.error(f"{match[1]} once", "set each variable once")
        environment[match[1]] = match[2]
        words.advance()
    if words.current != "torchrun":
        raise words.error("'torchrun' or NAME=VALUE", "local runs start as the contest's do, with torchrun")
    launcher = [words.current]
    words.advance()
    nproc = None
    while words.current.startswith("--"):
        if match := _NPROC.fullmatch(words.current):
            if not match[1]:
                words.advance()
            value = match[1] or words.current
            if not value.isdecimal() or int(value) < 1:
                raise words.error("a process count of 1 or more", "write --nproc_per_node=N")
            nproc = int(value)
        elif words.current == "--standalone":
            launcher.append(words.current)
        else:
            raise words.error("--standalone or --nproc_per_node=N", "leave other launcher options out")
        words.advance()
    if nproc is None:
        raise words.error("--nproc_per_node=N before the program", "say how many ranks to start")
    program = words.rest()
    if not program or (program[0] == "-m" and len(program) < 2):
        words.finish()
        raise words.error("a file or -m MODULE", "say what to run")
    if program[0].startswith("-") and program[0] != "-m":
        raise words.error("a file or -m MODULE", "put the program after the launcher's options")
    return LaunchPlan(text.strip(), environment, launcher, nproc, program)


class _Words:
    """The words of one launch string and the position that the reader has reached; '' after the last."""

    def __init__(self, text: str, words: list[str]) -> None:
        self._text, self._words, self._position = text.strip(), words, 0

    @property
    def current(self) -> str:
        return self._words[self._position] if self._position < len(self._words) else ""

    def advance(self) -> None:
        self._position += 1

    def finish(self) -> None:
        self._position = len(self._words)

    def rest(self) -> list[str]:
        return self._words[self._position :]

    def error(self, expected: str, remedy: str) -> LaunchError:
        return LaunchError(self._text, self._position + 1, self.current, expected, remedy)


def _plain_words(text: str) -> _Words:
    """Words between blanks; LaunchError at the first that a shell would not take literally."""
    words = text.split()
    for position, word in enumerate(words, 1):
        if not _PLAIN_WORD.fullmatch(word):
            raise LaunchError(
                text.strip(),
                position,
                word,
                "letters, digits and _ . / = , : + @ % - only",
                "no pipe, redirect, chaining, background, quoting or expansion: the string is not run by a shell",
            )
    if len(text.strip().splitlines()) > 1:
        second = len(text.strip().splitlines()[0].split()) + 1
        raise LaunchError(text.strip(), second, words[second - 1], "one line", "write the whole command on one line")
    return _Words(text, words)


def _quoted_words(text: str) -> _Words:
    """Words as a POSIX shell groups them by quotes; LaunchError for operators and expansions."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        words = list(lexer)
    except ValueError as error:
        raise LaunchError(text.strip(), 1, text.strip(), "matching quotes", f"close the quote ({error})") from error
    for position, word in enumerate(words, 1):
        if word and set(word) <= set("();<>|&"):
            remedy = "no pipe, redirect, chaining or background: run one command, without a shell"
            raise LaunchError(text.strip(), position, word, "a plain word", remedy)
        if "$" in word or "`" in word:
            remedy = "nothing is expanded: write the value itself"
            raise LaunchError(text.strip(), position, word, "a word without $ or backquote", remedy)
    return _Words(text, words)
