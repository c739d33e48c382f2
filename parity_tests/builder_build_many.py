"""Builds many requests in one process of any supported Python, and prints the hashes of what comes out as JSON.

    python builder_build_many.py SITE_PACKAGES WORK.json

WORK.json holds `profiles` (path or name -> contest profile, its mappings as `{"mapping": ...}`) and `requests` (key ->
fields of builder.produce.Request).
A result is a mapping of file names to SHA-256, or the text of the refusal.

Interpreters beside the one that runs the tests have none of the project's compiled dependencies; the builder itself
needs only PyYAML and the contest profile. So profiles come as JSON, read by the tests' own Python, and stand in for
`scorer.contest`.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import types
from pathlib import Path
from typing import Any

PATHS = ("settings", "entry", "config", "env_file")


def namespace(value: Any) -> Any:
    if isinstance(value, dict) and value.keys() == {"mapping"}:
        return {key: namespace(item) for key, item in value["mapping"].items()}
    if isinstance(value, dict):
        return types.SimpleNamespace(**{key: namespace(item) for key, item in value.items()})
    return [namespace(item) for item in value] if isinstance(value, list) else value


def main() -> None:
    os.umask(int(os.environ.get("BUILD_UMASK", "022"), 8))
    site, work = sys.argv[1:]
    sys.path[:0] = [str(Path(__file__).parents[1]), site]
    given = json.loads(Path(work).read_text(encoding="utf-8"))
    contest: Any = types.ModuleType("scorer.contest")

    def load(name: str) -> Any:
        return namespace(given["profiles"][str(name)])

    contest.load = load
    contest.Profile = contest.Hook = types.SimpleNamespace
    contest.ProfileError = ValueError
    sys.modules["scorer.contest"] = contest
    from builder.errors import BuildError
    from builder.produce import Request, build

    results: dict[str, Any] = {}
    for key, fields in given["requests"].items():
        typed = {name: Path(value) if name in PATHS and value else value for name, value in fields.items()}
        try:
            made = build(Request(**typed))
        except BuildError as error:
            results[key] = str(error)
            continue
        manifest = json.loads(made.files["manifest.json"])
        del manifest["tools"]["python"], manifest["git"]
        files = {**made.files, "manifest.json": json.dumps(manifest).encode(), "warnings": repr(made.warnings).encode()}
        results[key] = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    print(json.dumps(results, sort_keys=True))


if __name__ == "__main__":
    main()
