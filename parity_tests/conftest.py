"""What every test needs: the stand-ins on the path, as a clean room puts them there. And the order of the modules."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
for directory in (ROOT / "scorer/standins/neuron", ROOT / "scorer/standins/kit", ROOT):
    if str(directory) not in sys.path:
        sys.path.insert(0, str(directory))

# Modules that take half a minute or more. Each is one worker's: begun last, the others would wait for it.
LONG = (
    "test_builder_bytes",
    "test_builder_loads",
    "test_builder_fuzz",
    "test_builder_cases",
    "test_builder_growth",
    "test_builder_hand_kept",
    "test_builder_cli",
    "test_cli_commands",
    "test_cli_runs",
    "test_exploits",
    "test_kit_official",
    "test_kit_controls",
    "test_observer_audit",
    "test_recipe_compile",
    "test_report_files",
    "test_room_lane",
    "test_room_limits",
    "test_room_protections",
    "test_trusted_judge",
    "test_trusted_process",
    "test_trusted_purity",
    "test_trusted_surroundings",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long modules first."""
    items.sort(key=lambda item: item.path.stem not in LONG)
