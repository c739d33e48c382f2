"""Reading a training log: `step 00010 | loss 6.1234 | ...` lines, and the `key: value` block after `---`."""

from __future__ import annotations

import re
from collections.abc import Iterable

_STEP = re.compile(r"step \d+ *\|")
_SUMMARY = re.compile(r"([A-Za-z_]\w*): (.*)")


def steps(lines: Iterable[str]) -> list[dict[str, str]]:
    """The fields of each step line, as printed: {"step": "00010", "loss": "6.1234", ...}; unknown keys are kept."""
    found = []
    for line in lines:
        if _STEP.match(line):
            fields = (field.strip().partition(" ") for field in line.split("|"))
            found.append({key: value.strip() for key, _, value in fields if key})
    return found


def summary(lines: Iterable[str]) -> dict[str, str]:
    """The block after the first line of dashes; other lines in between are passed over, the last of a key counts."""
    found: dict[str, str] = {}
    inside = False
    for line in lines:
        if line.strip() == "---":
            inside = True
        elif inside and (match := _SUMMARY.fullmatch(line.strip())):
            found[match[1]] = match[2]
    return found
