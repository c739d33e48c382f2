"""The report files: complete, valid, the same bytes every time, and free of the machine they were made on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from parity_tests import report_sample as sample
from scorer.findings import CODES
from scorer.report import FILES, Report
from scorer.report.json_report import Verdict
from scorer.room import receipts as receipt_files
from scorer.room.receipts import Lane

ROOT = Path(__file__).parents[1]
WRITE = """
import sys
from pathlib import Path
from parity_tests import report_sample as sample
from scorer.report import FILES, Report
receipts = sample.sample_receipts(norm_runs=False)
if sys.argv[2] == "reversed":
    receipts = dict(reversed(receipts.items()))
Report(sample.failing(), receipts, sample.sample_artifact(), sample.sample_profile()).write(Path(sys.argv[1]))
"""


def files(directory: Path) -> dict[str, bytes]:
    return {p.relative_to(directory).as_posix(): p.read_bytes() for p in directory.rglob("*") if p.is_file()}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("report") / "out"
    receipts = sample.sample_receipts(norm_runs=False)
    Report(sample.failing(), receipts, sample.sample_artifact(), sample.sample_profile()).write(out)
    return out


def test_all_files_are_there_and_nothing_half_written(written: Path) -> None:
    receipts = {f"receipts/{lane.value}.json" for lane in sample.sample_receipts()}
    assert set(files(written)) == {*FILES} - {"receipts"} | receipts


def test_the_bytes_depend_on_neither_hash_seed_nor_locale_nor_directory_nor_order(
    written: Path, tmp_path: Path
) -> None:
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "PYTHONPATH": str(ROOT),
        "PYTHONHASHSEED": "4711",
        "LC_ALL": "C",
        "TZ": "Asia/Tokyo",
    }
    command = [sys.executable, "-c", WRITE, str(tmp_path / "out"), "reversed"]
    subprocess.run(command, env=environment, cwd=tmp_path, check=True)
    assert files(tmp_path / "out") == files(written)


def test_another_input_gives_other_bytes(written: Path, tmp_path: Path) -> None:
    receipts = sample.sample_receipts()
    Report(sample.passing(), receipts, sample.sample_artifact(), sample.sample_profile()).write(tmp_path)
    same = [name for name, content in files(tmp_path).items() if content == files(written)[name]]
    assert same == ["receipts/control.json"] or same == ["receipts/control.json", "receipts/trusted.json"]


@pytest.mark.parametrize("name", ["report.html", "summary.md", "verdict.json", "verdict.sarif", "junit.xml"])
def test_no_path_of_the_machine_is_in_a_report(written: Path, name: str) -> None:
    text = (written / name).read_text(encoding="utf-8")
    assert "/tmp/" not in text
    assert str(ROOT) not in text


def test_verdict_json_keeps_its_schema(written: Path) -> None:
    document = json.loads((written / "verdict.json").read_bytes())
    verdict = Verdict.model_validate(document)
    assert verdict.verdict == "fail"
    assert verdict.first_divergence == 3
    first = verdict.findings[0]
    assert (first.place, first.artifact_line, first.update) == ("recipe/model.py:61", 402, 3)
    assert {row.label: row.agree for row in verdict.rows}["final loss"] is False


def test_the_receipts_beside_the_report_can_be_read_again(written: Path) -> None:
    for lane, receipt in sample.sample_receipts(norm_runs=False).items():
        assert receipt_files.read(written / "receipts" / f"{lane.value}.json") == receipt


def test_junit_has_one_case_per_code_and_fails_just_the_hard_ones(written: Path) -> None:
    root = ElementTree.fromstring((written / "junit.xml").read_bytes())
    cases = {case.attrib["name"].split()[0]: case for case in root.iter("testcase")}
    assert set(cases) == set(CODES)
    hard = {finding.code for finding in sample.failing().findings if finding.severity == "hard"}
    assert {code for code, case in cases.items() if case.find("failure") is not None} == hard
    assert root.attrib["failures"] == str(len(hard))


def test_junit_has_an_error_when_the_evidence_does_not_decide(tmp_path: Path) -> None:
    comparison = sample.undecided()
    Report(comparison, {}, sample.sample_artifact(), sample.sample_profile()).write(tmp_path)
    root = ElementTree.parse(tmp_path / "junit.xml").getroot()
    assert [error.attrib["message"] for error in root.iter("error")] == [comparison.reason]


@pytest.mark.parametrize("lanes", [[], [Lane.LOCAL], [Lane.ARTIFACT], [Lane.TRUSTED], [Lane.LOCAL, Lane.ARTIFACT]])
def test_a_report_is_written_from_whatever_lanes_there_are(lanes: list[Lane], tmp_path: Path) -> None:
    receipts = {lane: sample.sample_receipts()[lane] for lane in lanes}
    Report(sample.undecided(), receipts, sample.sample_artifact(), sample.sample_profile()).write(tmp_path)
    assert "Inconclusive" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_the_terminal_shows_verdict_first_difference_columns_and_remedy() -> None:
    stream = StringIO()
    console = Console(file=stream, width=120)
    receipts = sample.sample_receipts(norm_runs=False)
    comparison = sample.failing()
    Report(comparison, receipts, sample.sample_artifact(), sample.sample_profile()).show(console)
    said = stream.getvalue()
    assert "\x1b" not in said  # a pipe gets plain text
    for words in ("FAIL", "First difference: recipe/model.py:61", "local", "artifact", "trusted", "token count"):
        assert words in said
    assert said.index("First difference") < said.index("outcome")
    for finding in comparison.findings:
        assert finding.code in said
