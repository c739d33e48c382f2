"""What the builder refuses: one `Problem` per place, gathered in one `BuildError`, so that a user sees all of them at
once.
"""

from __future__ import annotations

from dataclasses import dataclass

CODES: dict[str, str] = {
    "BLD001": "a file that cannot be read or parsed",
    "BLD002": "build settings that cannot be used",
    "BLD003": "a knob file that cannot be used",
    "BLD004": "an unknown knob",
    "BLD005": "a knob without a value",
    "BLD006": "a knob value of the wrong type",
    "BLD007": "a knob given twice",
    "BLD008": "a config class that cannot be evaluated",
    "BLD009": "a config that rejects these knobs",
    "BLD010": "an import that is not found",
    "BLD011": "a package that the contest's machine lacks",
    "BLD012": "a dynamic import",
    "BLD013": "a module used as a value",
    "BLD014": "a module alias of itself or through sys.modules",
    "BLD015": "an import that may fail and be passed over",
    "BLD016": "a star import whose names are unknown",
    "BLD017": "a circular import used at import time",
    "BLD018": "an assignment into another module",
    "BLD019": "a lazily imported module that must not run at another time",
    "BLD020": "code executed from a string",
    "BLD021": "an environment variable read or set",
    "BLD022": "command-line arguments read",
    "BLD023": "the program's own file or module object read",
    "BLD024": "code that runs only as __main__",
    "BLD025": "the namespace read as a dictionary",
    "BLD030": "a config used in a way that cannot be frozen",
    "BLD031": "a branch that cannot be folded safely",
    "BLD032": "a literal that cannot be written here",
    "BLD033": "names that cannot be told apart",
    "BLD040": "a hook that is missing or has other parameters",
    "BLD041": "a dataclass field whose type is a string",
    "BLD042": "an undefined name",
    "BLD043": "syntax above the contest's Python",
    "BLD044": "an artifact over the size limit",
    "BLD045": "an artifact that differs from its sources",
    "BLD046": "a launch command or kernel count that cannot be made",
    "BLD047": "a place that cannot be found",
    "BLD048": "a module or name that the contest's Python lacks",
}


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
