"""What differs between two artifacts, told from their manifests: knobs first, then everything else that they name."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from builder.errors import refuse

ABSENT = "-"


@dataclass(frozen=True)
class Difference:
    """One row: what it is of, the value in each artifact, and where the values come from."""

    what: str
    first: str
    second: str
    origin: str


def diff(first: Path, second: Path) -> list[Difference]:
    """Every difference between two artifacts, each given as its directory or its manifest.json. Empty: none.

    The commit, and the Python that ran the builder, are no differences: the same bytes can come of them.
    """
    one, other = _read(first), _read(second)
    rows = _knobs(one, other)
    rows += _field("launch command", one.get("launch_command"), other.get("launch_command"))
    rows += _field("contest", _contest(one), _contest(other))
    kernels = [{name: _launches(k) for name, k in manifest.get("kernels", {}).items()} for manifest in (one, other)]
    rows += _table("kernel", *kernels)
    rows += _table("source", *({k: v[:12] for k, v in m.get("sources", {}).items()} for m in (one, other)))
    same_code = one["artifact_sha256"] == other["artifact_sha256"]
    if not same_code:
        only = "" if rows else "only the code differs: built by another builder, or edited"
        rows += _field("builder", one.get("tools", {}).get("builder"), other.get("tools", {}).get("builder"))
        sizes = [f"{m['artifact_sha256'][:12]}, {m.get('size_bytes', 0):,} bytes" for m in (one, other)]
        rows.append(Difference("train.py", sizes[0], sizes[1], only))
    return rows


def _read(path: Path) -> dict[str, Any]:
    file = path / "manifest.json" if path.is_dir() else path
    remedy = "name a directory that `builder produce` wrote, or the manifest.json in it"
    try:
        manifest = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise refuse("BLD047", str(file), 0, f"no manifest: {error.strerror}", remedy) from error
    except ValueError as error:
        raise refuse("BLD047", str(file), 0, f"not a manifest: {error}", remedy) from error
    if not _is_manifest(manifest):
        raise refuse("BLD047", str(file), 0, "not a manifest that this builder knows", remedy)
    found: dict[str, Any] = manifest
    return found


def _is_manifest(manifest: Any) -> bool:
    if not isinstance(manifest, dict) or not isinstance(manifest.get("artifact_sha256"), str):
        return False
    tables = [manifest.get(name, {}) for name in ("knobs", "kernels", "contest", "tools", "sources")]
    inner = [*tables[0].values(), *tables[1].values()] if all(isinstance(t, dict) for t in tables) else [None]
    return all(isinstance(item, dict) for item in inner) and all(isinstance(s, str) for s in tables[4].values())


def _knobs(one: dict[str, Any], other: dict[str, Any]) -> list[Difference]:
    rows = []
    first, second = one.get("knobs", {}), other.get("knobs", {})
    for name in dict.fromkeys([*first, *second]):
        here, there = first.get(name), second.get(name)
        if _value(here) != _value(there):
            origins = dict.fromkeys(str(knob.get("origin", "")) for knob in (here, there) if knob)
            rows.append(Difference(name, _value(here), _value(there), " | ".join(origins)))
    return rows


def _value(knob: dict[str, Any] | None) -> str:
    """A knob's value as Python writes it, so that `1`, `1.0` and `"1"` differ."""
    return ABSENT if knob is None else repr(knob.get("value"))


def _contest(manifest: dict[str, Any]) -> str:
    contest = manifest.get("contest", {})
    return f"{contest.get('name')} {contest.get('version')}"


def _launches(kernel: dict[str, Any]) -> str:
    count = kernel.get("launches_per_update")
    return "unknown launches" if count is None else f"{count} an update"


def _field(what: str, first: object, second: object) -> list[Difference]:
    return [] if first == second else [Difference(what, str(first), str(second), "")]


def _table(what: str, first: dict[str, str], second: dict[str, str]) -> list[Difference]:
    names = [name for name in dict.fromkeys([*first, *second]) if first.get(name) != second.get(name)]
    return [Difference(f"{what} {n}", first.get(n, ABSENT), second.get(n, ABSENT), "") for n in sorted(names)]


def as_text(rows: list[Difference]) -> list[str]:
    """The rows as lines for whatever reads them: a header, then columns under each other."""
    table = [("knob", "A", "B", "origin"), *((row.what, row.first, row.second, row.origin) for row in rows)]
    widths = [max(len(row[column]) for row in table) for column in range(3)]
    return [
        "  ".join([*(cell.ljust(w) for cell, w in zip(row, widths, strict=False)), row[3]]).rstrip() for row in table
    ]
