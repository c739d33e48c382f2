"""The fault folders fit the recipe, a few run end to end here, and the runner can fail. The rest: `nox -s faults`."""

from pathlib import Path

import pytest

from parity_tests.faults.run import FAULTS, Expected, Fault, prepare, right_place, run_fault

FOLDERS = sorted(p for p in FAULTS.iterdir() if (p / "fault.yaml").is_file())
FIRST_SLICE = set("B3 B7 B14 B15 B17 E1 E2 E8 S1 S2 S3 S4 C1 C2 L2 L6 M10 X2".split(" "))  # noqa: SIM905


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda p: p.name)
def test_a_fault_folder_still_fits_the_recipe(folder: Path, tmp_path: Path) -> None:
    fault = Fault.read(folder)
    assert folder.name.startswith(f"{fault.row}-")
    prepare(tmp_path, fault)


def test_every_row_of_the_first_slice_has_a_folder() -> None:
    assert {Fault.read(folder).row for folder in FOLDERS} >= FIRST_SLICE


@pytest.mark.parametrize("name", ["S1-import-guard", "B15-flag-not-carried", "S4-no-launches"])
def test_a_fault_is_caught_first_and_at_its_place(name: str) -> None:
    result = run_fault(Fault.read(FAULTS / name))
    assert (result.caught, result.placed) == (True, True), result.said


def test_a_clean_recipe_where_a_fault_is_expected_is_not_called_caught() -> None:
    fault = Fault(
        row="none", title="nothing is wrong", expect=Expected(code="KNB001", file="recipe/configs/small.yaml")
    )
    result = run_fault(fault)
    assert (result.caught, result.placed) == (False, False)
    assert "verdict pass" in result.said


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
