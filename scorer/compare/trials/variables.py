"""Hostile values for the variables that a program could react to."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import yaml

from scorer.artifact import Artifact
from scorer.contest import Profile
from scorer.room.launch import LaunchPlan
from scorer.room.receipts import Receipt
from scorer.rules.environment import reads as reads_of
from scorer.rules.source import Source

KNOWN = Path(__file__).parent / "hostile.yaml"
# What a process needs to start at all, and what the room points at its own directories.
NEEDED = {"PATH", "HOME", "TMPDIR", "PYTHONPATH", "XDG_CACHE_HOME"}
NUMBERS = ("1", "0")  # what a switch is compared with, and what a number can be read from


@cache
def known() -> dict[str, str]:
    """Names that everybody's machine may have set, with a hostile value each."""
    values: dict[str, str] = yaml.safe_load(KNOWN.read_text("utf-8"))
    return values


def free(name: str, profile: Profile, plan: LaunchPlan, observer: str) -> bool:
    """Whether a trial may touch a variable: nobody but the machine's user would set it."""
    owned = profile.environment.owner(name) is not None or name in profile.environment.cache_directories
    return not owned and name not in {*NEEDED, *plan.environment, observer, profile.kit.cache_variable}


def read_lines(artifact: Artifact) -> dict[str, int]:
    """Variable -> the first line of train.py that reads it, as the static review sees it."""
    found: dict[str, int] = {}
    for read in reads_of(Source(artifact.source, artifact.train_py.name)):
        for name in read.names or ():
            found.setdefault(name, getattr(read.node, "lineno", 1))
    return found


def asked_for(artifact: Artifact, lines: Iterable[int]) -> list[str]:
    """Texts that what is read on these lines is compared with, there or under the name that it is given."""
    tree, wanted = ast.parse(artifact.source), set(lines)
    names = {
        target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr) and _touches(node, wanted)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    }
    found: dict[str, None] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            inner = [*ast.walk(node)]
            if _touches(node, wanted) or any(isinstance(one, ast.Name) and one.id in names for one in inner):
                parts = [node.left, *node.comparators]
                parts += [
                    item for part in parts if isinstance(part, ast.Tuple | ast.List | ast.Set) for item in part.elts
                ]
                texts = [part.value for part in parts if isinstance(part, ast.Constant)]
                found |= {text: None for text in texts if isinstance(text, str) and text not in NUMBERS}
    return [*found]


def _touches(node: ast.expr | ast.stmt, lines: set[int]) -> bool:
    return not lines.isdisjoint(range(node.lineno, (node.end_lineno or node.lineno) + 1))


def read_in(receipt: Receipt) -> dict[str, int | None]:
    """Variable -> the line that read it in a run (None: not told), "*" for a read of all of them."""
    found: dict[str, int | None] = {}
    for rank in receipt.ranks:
        for event in rank.events:
            if event.kind == "read-environment":
                found.setdefault(event.detail, event.site.line if event.site else None)
    return found
