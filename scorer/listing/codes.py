"""What finding codes mean: in a terminal, and as one page of Markdown each. All of it is what `define` was given."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Console
from rich.padding import Padding
from rich.syntax import Syntax
from rich.text import Text

from scorer.contest import Profile
from scorer.findings import FAMILIES, Code, Severity

INDEX = "README.md"
_STYLES = {"hard": "red", "advice": "yellow", "off": "dim"}
_WEIGHTS = {
    Severity.HARD: "decides the verdict, unless the contest's profile weighs it otherwise",
    Severity.ADVICE: "advice, unless the contest's profile weighs it otherwise",
}


def print_codes(codes: Mapping[str, Code], profile: Profile, console: Console) -> None:
    """Print one line a code: code, weight in a contest, title."""
    for code, meaning in sorted(codes.items()):
        weight = profile.rules.get(code, meaning.severity.value)
        console.print(
            Text.assemble((code, "bold"), f" {weight:6} ", meaning.title, style=_STYLES[weight]), soft_wrap=True
        )


def print_code(code: str, meaning: Code, profile: Profile, console: Console) -> None:
    """Print everything about a code: what it says, why that matters, an example, and what to do."""
    weight = profile.rules.get(code, meaning.severity.value)
    title = Text.assemble((code, f"bold {_STYLES[weight]}"), f" {meaning.title} ({weight})")
    console.print(title, soft_wrap=True)
    console.print(Padding(Text(meaning.why), (1, 0, 1, 2)))
    if meaning.example:
        example = Syntax(meaning.example.rstrip("\n"), "python", background_color="default")
        console.print(Padding(example, (0, 0, 1, 4)))
    console.print(Padding(Text.assemble(("Instead: ", "bold"), meaning.remedy), (0, 0, 0, 2)))


def markdown(meaning: Code) -> str:
    """Why a code matters, an example of what raises it, and what to do, as Markdown without a heading."""
    shown = f"\n\n```python\n{meaning.example.rstrip()}\n```" if meaning.example else ""
    return f"{meaning.why}{shown}\n\n**Instead:** {meaning.remedy}"


def pages(codes: Mapping[str, Code]) -> dict[str, str]:
    """One page a code by its file name, and an index of them by family."""
    files = {f"{code}.md": _page(code, meaning) for code, meaning in codes.items()}
    files[INDEX] = _index(codes)
    return files


def _page(code: str, meaning: Code) -> str:
    family = f"{FAMILIES[code[:3]]} ([all codes]({INDEX}))"
    example = f"## Example\n\n```python\n{meaning.example.rstrip()}\n```\n\n" if meaning.example else ""
    return (
        f"# {code} {_capital(meaning.title)}\n\nFamily: {family}. Weight: {_WEIGHTS[meaning.severity]}.\n\n"
        f"## Why it matters\n\n{meaning.why}\n\n{example}## What to do\n\n{meaning.remedy}\n"
    )


def _index(codes: Mapping[str, Code]) -> str:
    lines = [
        "# Finding codes",
        "",
        "What each finding says, why it matters and what to do. Written by `scorer findings --pages docs/findings`",
        "from the definitions beside the checks; `scorer findings CODE` prints one of them.",
    ]
    for family, about in FAMILIES.items():
        lines += ["", f"## {family}: {about}", "", "| code | finding | weight |", "|---|---|---|"]
        for code, meaning in sorted(codes.items()):
            if code.startswith(family):
                lines.append(f"| [{code}]({code}.md) | {_capital(meaning.title)} | {meaning.severity.value} |")
    return "\n".join(lines) + "\n"


def _capital(title: str) -> str:
    return title[:1].upper() + title[1:]
