"""Values as the words that a report prints."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

_LINE = 100
_ABSOLUTE = re.compile(r"(?<![\w./~>-])/(?:[^\s:;,'\"=/]+/)*([^\s:;,'\"=/]+)/?")


def plain(text: str) -> str:
    """Cut absolute paths down to their last part, so that a report says the same on every machine."""
    return _ABSOLUTE.sub(r"…/\1", text)


def told(value: Any) -> str:
    """A value of a finding's evidence or of a manifest: on one line, or a long list on one line each."""
    match value:
        case str():
            return value
        case Mapping():
            return ", ".join(f"{name}: {told(value[name])}" for name in sorted(value, key=str))
        case Sequence():
            items = [told(item) for item in value]
            return (", " if sum(map(len, items)) <= _LINE else "\n").join(items)
        case _:
            return str(value)
