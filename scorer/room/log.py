"""Reading a training log: `step 00010 | loss 6.1234 | ...` lines, and the `key: value` block after `---`."""

from __future__ import annotations

import re
from collections.abc import Iterable

from scorer.contest import LogRules

_SUMMARY = re.compile(r"([A-Za-z_]\w*): (.*)")


def steps(lines: Iterable[str], rules: LogRules) -> list[dict[str, str]]:
    """The fields of each step line, as printed: {"step": "00010", "loss": "6.1234", ...}; unknown keys are kept."""
    found = []
    step = re.compile(rf"{re.escape(rules.step)} \d+ *{re.escape(rules.separator)}")
    for line in lines:
        if step.match(line):
            fields = (field.strip().partition(" ") for field in line.split(rules.separator))
            found.append({key: value.strip() for key, _, value in fields if key})
    return found


def summary(lines: Iterable[str], rules: LogRules) -> dict[str, str]:
    """The block behind the line that opens it; other lines in between are passed over, the last of a key counts."""
    found: dict[str, str] = {}
    inside = False
    for line in lines:
        if line.strip() == rules.results_after:
            inside = True
        elif inside and (match := _SUMMARY.fullmatch(line.strip())):
            found[match[1]] = match[2]
    return found
