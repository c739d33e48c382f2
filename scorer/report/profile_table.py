"""A contest profile for readers: each field with its value, and how it is known."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from scorer.contest import Profile


def print_profile(profile: Profile, console: Console) -> None:
    """Print every field of a profile but its marks of confidence, which stand beside the fields."""
    title = f"{profile.title} ({profile.name}, version {profile.version})"
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title=title, title_justify="left")
    table.add_column("field", no_wrap=True)
    table.add_column("value", overflow="fold")
    table.add_column("known", no_wrap=True, style="dim")
    fields = profile.model_dump(exclude={"name", "version", "title", "confidence"}, exclude_none=True)
    for field, value in _leaves(fields):
        table.add_row(Text(field), Text(_told(value)), profile.confidence_of(field) or "")
    console.print(table)


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """(dotted field, value) of everything that is not a part with fields of its own; a list is one value."""
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from _leaves(item, f"{path}.{key}" if path else key)
    else:
        yield path, value


def _told(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_told(item)}" for key, item in value.items()) or "none"
    if isinstance(value, list):
        nested = any(isinstance(item, dict) for item in value)
        return ("\n" if nested else ", ").join(map(_told, value)) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    return f"{value:,}" if isinstance(value, int) and value >= 10_000 else str(value)
