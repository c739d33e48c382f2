"""A folder under rules/ is named by its code: `hit*.py` raises it on the lines marked `expect`, `miss*.py` never."""

import re
from pathlib import Path

import pytest

from scorer.artifact import Artifact
from scorer.contest import load
from scorer.findings import CODES
from scorer.review import ALL_RULES, review

CASES = Path(__file__).parent / "rules"
LAUNCH = "NEURON_LOGICAL_NC_CONFIG=2 torchrun --standalone --nproc_per_node=2 train.py"
# A comment would explain the numbers that REV086 wants explained: there a string is the mark.
MARK = re.compile(r"# expect\b|\(expect\)$|\"expect\"")
TESTED_ELSEWHERE = {
    "REV002",
    "REV007",
    "REV008",
}  # in test_review_artifact.py and test_contest_files.py: they need more than a file


def lines_with(code: str, path: Path) -> list[int]:
    """Lines on which the code is raised for a case; comments at its top may name launch string and profile."""
    text = path.read_text("utf-8")
    launch = re.search(r"^# launch: (.*?)( \(expect\))?$", text, re.MULTILINE)
    profile = re.search(r"^# profile: (.*)$", text, re.MULTILINE)
    artifact = Artifact.from_file(path, launch[1] if launch else LAUNCH)
    found = review(artifact, load(profile[1] if profile else "embedded"))
    return sorted({finding.artifact_line or 0 for finding in found if finding.code == code})


def expected(path: Path) -> list[int]:
    lines = path.read_text("utf-8").splitlines()
    if "# expect at line 1" in lines:
        return [1]
    return [number for number, line in enumerate(lines, 1) if MARK.search(line)]


@pytest.mark.parametrize("path", sorted(CASES.glob("*/hit*.py")), ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_a_hit_is_found_on_its_lines(path: Path) -> None:
    assert expected(path), f"{path}: mark at least one line with `expect`"
    assert lines_with(path.parent.name, path) == expected(path)


@pytest.mark.parametrize("path", sorted(CASES.glob("*/miss*.py")), ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_a_miss_is_left_alone(path: Path) -> None:
    assert lines_with(path.parent.name, path) == []


@pytest.mark.parametrize(("contest", "launch"), [("embedded", LAUNCH), ("trainium-frontier-phase1", "")])
@pytest.mark.parametrize("path", sorted(CASES.glob("clean/*.py")), ids=lambda p: p.stem)
def test_a_clean_submission_raises_nothing_at_all(path: Path, contest: str, launch: str) -> None:
    assert review(Artifact.from_file(path, launch), load(contest)) == []


def test_every_rule_has_a_hit_and_a_miss() -> None:
    codes = {rule.code for rule in ALL_RULES} | {code for code in CODES if code == "REV001"}
    for code in codes - TESTED_ELSEWHERE:
        assert list((CASES / code).glob("hit*.py")), f"rules/{code} has no hit*.py"
        assert list((CASES / code).glob("miss*.py")), f"rules/{code} has no miss*.py"
