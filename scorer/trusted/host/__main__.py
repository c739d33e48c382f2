"""Loads the package under a name of its own, without its directory on the path, and starts it."""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
from pathlib import Path

NAME = "scorer_host"


def main() -> None:
    """Load and run; the one argument is JSON (see forking)."""
    here = Path(__file__).resolve().parent
    sys.path[:] = [place for place in sys.path if not place or Path(place).resolve() != here]
    specification = importlib.util.spec_from_file_location(
        NAME, here / "__init__.py", submodule_search_locations=[str(here)]
    )
    assert specification is not None
    assert specification.loader is not None
    package = importlib.util.module_from_spec(specification)
    sys.modules[NAME] = package
    specification.loader.exec_module(package)
    importlib.import_module(f"{NAME}.forking").main(json.loads(sys.argv[1]))


if __name__ == "__main__":
    main()
