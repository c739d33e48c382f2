"""What the builder refuses: one `Problem` per place, gathered in one `BuildError`, so that a user sees all of them at
once.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Code:
    """One kind of refusal: what it is, why the builder cannot go on, what to write instead."""

    title: str
    why: str
    instead: str


CODES: dict[str, Code] = {
    "BLD001": Code(
        "a file that cannot be read or parsed",
        "nothing is known of it",
        "save it as UTF-8, correct its syntax, or run the builder under the contest's Python",
    ),
    "BLD002": Code(
        "build settings that cannot be used", "what to build would be a guess", "correct the line that is named"
    ),
    "BLD003": Code("a knob file that cannot be used", "values would be a guess", "correct the line that is named"),
    "BLD004": Code(
        "an unknown knob", "a value that goes nowhere is a mistake", "correct the name; the message lists what there is"
    ),
    "BLD005": Code("a knob without a value", "there is no default to freeze", "give it a value"),
    "BLD006": Code(
        "a knob value of the wrong type",
        "the program would not get it in this form",
        "write a value of the type that is named",
    ),
    "BLD007": Code("a knob given twice", "the last one would win without a word", "keep one"),
    "BLD008": Code(
        "a config class that cannot be evaluated",
        "its fields cannot be known without running the recipe",
        "plain defaults and pure code in the class",
    ),
    "BLD009": Code("a config that rejects these knobs", "the recipe itself refuses them", "other values"),
    "BLD010": Code(
        "an import that is not found",
        "skipped, it would fail on the contest's machine, or run other code",
        "add the module, correct the import",
    ),
    "BLD011": Code(
        "a package that the contest's machine lacks",
        "the import fails there",
        "do without it, or put its code into the recipe",
    ),
    "BLD012": Code(
        "a dynamic import",
        "what it loads shows only at run time, and is no module in one file",
        "an import statement, a table of objects",
    ),
    "BLD013": Code(
        "a module used as a value",
        "in one file there is none, and one is made only where its names are known and stay",
        "name what is used of it; a table of objects where a string chooses",
    ),
    "BLD014": Code(
        "the program's own modules by name",
        "the artifact is one module, under a name that others choose",
        "import from a module that both sides share",
    ),
    "BLD015": Code(
        "an import that may fail and be passed over",
        "which code runs would show only on the contest's machine",
        "import it plainly; let a knob choose",
    ),
    "BLD016": Code(
        "a star import whose names are unknown",
        "only running the module would show them",
        "`__all__` as a list, or imports by name",
    ),
    "BLD017": Code("a circular import used at import time", "the name does not exist yet", "move the definition"),
    "BLD018": Code(
        "an assignment into another module",
        "code that was linked to the old value would not see it",
        "assign it in its own module, in a function",
    ),
    "BLD019": Code(
        "a late import that cannot be kept late",
        "the module's code must run when it did in the package",
        "import it at the top",
    ),
    "BLD020": Code(
        "code executed from a string", "nobody can read it, rename in it or show its source", "write the code itself"
    ),
    "BLD021": Code(
        "an environment variable that is no knob",
        "the contest's machine has its own environment",
        "make it a knob; the launcher's own variables may be read",
    ),
    "BLD022": Code("a command line that is read", "the artifact runs with the bare launch command", "make it a knob"),
    "BLD023": Code(
        "the program's own file, package data or module names",
        "the artifact is another file, alone, with another name",
        "put the data into the code, write the name",
    ),
    "BLD024": Code(
        "code that runs only as the main program",
        "the contest imports the file, and would miss it",
        "move it into a function",
    ),
    "BLD025": Code(
        "the namespace read as a dictionary",
        "it holds every module's names, some renamed, some gone",
        "name what is needed",
    ),
    "BLD030": Code(
        "a config used in a way that cannot be frozen, or made of other values than the settings by its loader",
        "a field would be read that is no literal any more",
        "read fields of an annotated parameter",
    ),
    "BLD031": Code(
        "a branch that cannot be folded safely",
        "what is left would mean something else",
        "bind names before the branch; one function for each way",
    ),
    "BLD032": Code(
        "a literal that cannot be written here",
        "the text of the place is part of the result",
        "assign it to a variable first",
    ),
    "BLD033": Code(
        "names that cannot be told apart",
        "one name means two things there, and no other can stand in",
        "rename one of the two",
    ),
    "BLD040": Code(
        "a hook that is missing or has other parameters",
        "the contest calls it",
        "define it in the entry, with the contest's parameters",
    ),
    "BLD041": Code(
        "a dataclass field whose type is a string",
        "it cannot be resolved in a file loaded by path",
        "write the type itself",
    ),
    "BLD042": Code("an undefined name", "it fails when it is reached", "define or import it"),
    "BLD043": Code("syntax above the contest's Python", "the file does not parse there", "that version's syntax"),
    "BLD044": Code("an artifact over the size limit", "the contest rejects it", "`--strip-comments`, or less code"),
    "BLD045": Code("an artifact that differs from its sources", "the builder is at fault", "report it"),
    "BLD046": Code(
        "a launch command or kernel count that cannot be made",
        "what the artifact needs to run would be a guess",
        "correct the settings",
    ),
    "BLD047": Code("a place that cannot be found", "there is no map, or no such line", "build the artifact again"),
    "BLD048": Code("a module or name that the contest's Python lacks", "it fails there", "what that version has"),
}


def table() -> str:
    """All codes as the Markdown table of the README."""
    rows = (f"| {code} | {kind.title} | {kind.why} | {kind.instead} |" for code, kind in CODES.items())
    return "\n".join(["| code | refused | because | instead |", "|---|---|---|---|", *rows]) + "\n"


@dataclass(frozen=True, order=True)
class Problem:
    """One thing that the builder cannot do: where, what, and what to do about it."""

    file: str
    line: int
    code: str
    message: str
    remedy: str

    def __post_init__(self) -> None:
        if self.code not in CODES:
            raise ValueError(f"{self.code} is not in the table of builder codes")

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place}: {self.code} {self.message}\n  {self.remedy}"


class BuildError(Exception):
    """Why there is no artifact: every problem found, in order of file and line."""

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = sorted(set(problems))
        super().__init__("\n".join(map(str, self.problems)))


def refuse(code: str, file: str, line: int, message: str, remedy: str) -> BuildError:
    """A build error of one problem, for `raise refuse(...)` where nothing can go on."""
    return BuildError([Problem(file, line, code, message, remedy)])
