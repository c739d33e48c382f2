"""The fault folders fit the recipe, a few run end to end here, and the runner can fail. The rest: `nox -s faults`."""

from pathlib import Path

import pytest
import yaml

from parity_tests.faults.clean import CONFIG, KNOBS, drawn
from parity_tests.faults.run import FAULTS, ROOT, Expected, Fault, prepare, right_place, run_fault
from recipe.config import Config

FOLDERS = sorted(p for p in FAULTS.iterdir() if (p / "fault.yaml").is_file())
COVERED = (
    "B1 B2 B3 B4 B5 B6 B7 B8 B9 B10 B11 B12 B13 B14 B15 B16 B17 B18 C1 C2 C3 C4 C5 E1 E2 E3 E4 E5 E6 E7 E8 K1 K2 K3 "
    "K4 K5 K6 L1 L2 L3 L4 L5 L6 L7 M1 M2 M3 M4 M5 M6 M7 M8 M9 M10 M11 M12 O1 S1 S2 S3 S4 S5 S6 S7 S8 T1 T2 T3 T4 T5 "
    "T6 T7 T9 X1 X2 X3 X4 X5 X6 X7 X8 X9"
)
ROWS = set(COVERED.split())
"""All rows but two. T8 takes two hosts that are apart: test_trials_speed.py. T10 is a decision by full runs on the real
clock, which on a busy machine is only that it is busy: test_trials_change.py.
"""


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda p: p.name)
def test_a_fault_folder_still_fits_the_recipe(folder: Path, tmp_path: Path) -> None:
    fault = Fault.read(folder)
    assert folder.name.startswith(f"{fault.row}-")
    prepare(tmp_path, fault)


def test_every_row_has_a_folder_and_there_are_enough_of_them() -> None:
    assert {Fault.read(folder).row for folder in FOLDERS} >= ROWS
    assert len(FOLDERS) >= 80


@pytest.mark.parametrize(
    "name", ["S1-import-guard", pytest.param("K6-arguments-over-one-memory", marks=pytest.mark.long)]
)
def test_a_fault_is_caught_first_and_at_its_place(name: str) -> None:
    result = run_fault(Fault.read(FAULTS / name))
    assert (result.caught, result.placed) == (True, True), result.said


@pytest.mark.long
def test_a_clean_recipe_where_a_fault_is_expected_is_not_called_caught() -> None:
    expected = Expected(code="KRN006", file="recipe/kernels/relu_squared.py")
    fault = Fault(row="none", title="nothing is wrong", judge="kernels", expect=expected)
    result = run_fault(fault)
    assert (result.caught, result.placed) == (False, False)
    assert "verdict pass" in result.said


def test_clean_recipes_differ_and_are_the_same_for_one_turn() -> None:
    turns = [drawn(turn) for turn in range(20)]
    assert turns == [drawn(turn) for turn in range(20)]
    assert turns[0] == {}
    assert len({str(changed) for changed in turns}) == 20
    smallest = yaml.safe_load((ROOT / CONFIG).read_text("utf-8"))
    knobs = vars(Config(**smallest))
    assert all(knobs[name] == value for values in KNOBS for name, value in values[0].items())
    for changed in turns:
        Config(**(smallest | changed))


def test_a_place_is_right_only_with_its_file_and_its_text(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text("first\nsecond\n", "utf-8")
    expected = Expected(code="KNB001", file="model.py", line="second")
    assert right_place(tmp_path, "model.py:2", expected)
    assert not right_place(tmp_path, "model.py:1", expected)
    assert not right_place(tmp_path, "model.py:3", expected)
    assert not right_place(tmp_path, "optim.py:2", expected)
    assert not right_place(tmp_path, None, expected)
    assert right_place(tmp_path, None, Expected(code="ENV001"))
    assert not right_place(tmp_path, "model.py:2", Expected(code="ENV001"))
