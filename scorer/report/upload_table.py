"""The ledger's uploads for readers: when, what, how it scored, and the knobs that each changed."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from scorer.ledger import Changes, Upload, changes

_STYLES = {"pass": "green", "fail": "red", "inconclusive": "yellow"}


def print_uploads(uploads: Sequence[Upload], console: Console) -> None:
    """Print one row an upload, in the order in which they were recorded."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("date", "artifact", "verdict"):
        table.add_column(name, no_wrap=True)
    table.add_column("bpb", justify="right", no_wrap=True)
    table.add_column("changed since the one before", overflow="fold")
    table.add_column("note", overflow="fold")
    for index, upload in enumerate(uploads):
        table.add_row(
            upload.date.isoformat(),
            upload.artifact_sha256[:12],
            Text(upload.verdict or "none", _STYLES.get(upload.verdict or "", "dim")),
            "" if upload.bpb is None else f"{upload.bpb:.6f}",
            Text(changed(changes(uploads[index - 1], upload))) if index else "",
            Text(upload.note),
        )
    console.print(table)


def changed(found: Changes) -> str:
    """The knobs that changed, in one line; the sentence on the files where none did."""
    if not found.knobs:
        return found.sentence
    return ", ".join(f"{knob.name} {knob.before or 'none'} → {knob.after or 'none'}" for knob in found.knobs)
