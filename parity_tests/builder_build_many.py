"""Builds several settings files in one process of any supported Python, and prints the hashes as JSON.

    python builder_build_many.py SITE_PACKAGES PROFILE_JSON SETTINGS[:CONFIG[:SET,SET]]...

Interpreters beside the one that runs the tests have none of the project's compiled dependencies; the builder itself
needs only PyYAML and the contest profile. So the profile comes as JSON, read by the tests' own Python, and stands in
for `scorer.contest`.
"""

from __future__ import annotations

import hashlib
import json
import sys
import types
from pathlib import Path
from typing import Any


def namespace(value: Any) -> Any:
    if isinstance(value, dict):
        return types.SimpleNamespace(**{key: namespace(item) for key, item in value.items()})
    return [namespace(item) for item in value] if isinstance(value, list) else value


def main() -> None:
    site, profiles, *builds = sys.argv[1:]
    sys.path[:0] = [str(Path(__file__).parents[1]), site]
    contest: Any = types.ModuleType("scorer.contest")
    known = json.loads(Path(profiles).read_text(encoding="utf-8"))

    def load(name: str) -> Any:
        profile = namespace(known[str(name)])
        profile.launch.environment = known[str(name)]["launch"]["environment"]  # a mapping in the profile too
        return profile

    contest.load = load
    contest.Profile, contest.ProfileError = types.SimpleNamespace, ValueError
    sys.modules["scorer.contest"] = contest
    from builder.errors import BuildError
    from builder.produce import produce

    results: dict[str, Any] = {}
    for text in builds:
        settings, _, rest = text.partition(":")
        config, _, sets = rest.partition(":")
        try:
            made = produce(Path(settings), Path(config) if config else None, sets.split(",") if sets else [])
        except BuildError as error:
            results[text] = str(error)
            continue
        manifest = json.loads(made.files["manifest.json"])
        del manifest["tools"]["python"], manifest["git"]
        files = {**made.files, "manifest.json": json.dumps(manifest).encode()}
        results[text] = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    print(json.dumps(results, sort_keys=True))


if __name__ == "__main__":
    main()
