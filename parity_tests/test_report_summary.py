"""A verdict where code hosts show it: SARIF at the recipe's lines, and a step summary in Markdown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from typer.testing import CliRunner

from parity_tests import report_sample as sample
from scorer.artifact import Artifact
from scorer.cli.commands import app
from scorer.compare import Comparison
from scorer.findings import Place, finding
from scorer.report import FILES, Report
from scorer.report.sarif_report import verdict_sarif
from scorer.room import receipts as receipt_files
from scorer.room.receipts import Lane

SCHEMA = json.loads((Path(__file__).parent / "schemas" / "sarif-schema-2.1.0.json").read_text("utf-8"))


def report(comparison: Comparison, norm_runs: bool = False) -> Report:
    receipts = sample.sample_receipts(norm_runs=norm_runs)
    return Report(comparison, receipts, sample.sample_artifact(), sample.sample_profile())


def run(comparison: Comparison, artifact: Artifact | None = None) -> Any:
    text = verdict_sarif(comparison.findings, artifact or sample.sample_artifact(), sample.sample_profile())
    document = json.loads(text)
    jsonschema.validate(document, SCHEMA, cls=jsonschema.Draft7Validator)
    return document["runs"][0]


def lines(result: Any) -> list[tuple[str, int]]:
    places = [location["physicalLocation"] for location in result["locations"]]
    return [(place["artifactLocation"]["uri"], place["region"]["startLine"]) for place in places]


def test_findings_are_at_the_recipes_lines_with_what_their_codes_mean() -> None:
    comparison = sample.failing()
    shown = run(comparison)
    assert [lines(result) for result in shown["results"]] == [
        [("recipe/model.py", 61)],
        [("recipe/train.py", 88)],
        [("recipe/train.py", 12)],
    ]
    assert [result["level"] for result in shown["results"]] == ["error", "error", "warning"]
    related = shown["results"][0]["relatedLocations"][0]["physicalLocation"]
    assert (related["artifactLocation"]["uri"], related["region"]["startLine"]) == ("train.py", 402)
    rules = {rule["id"]: rule for rule in shown["tool"]["driver"]["rules"]}
    assert rules.keys() == {found.code for found in comparison.findings}
    assert all("**Instead:**" in rule["help"]["markdown"] for rule in rules.values())


def test_a_finding_without_a_line_stands_at_the_recipes_entry() -> None:
    sample.failing()  # whoever defines codes has been imported
    whole = Comparison("inconclusive", "", [finding("CTL002", "/tmp/x/lane left no receipt")], [], [])
    places = (None, Place(file="recipe/model.py", line=3), Place(file="recipe/train.py", line=9), None)
    mapped = Artifact(**{**vars(sample.sample_artifact()), "places": places})
    (result,) = run(whole, mapped)["results"]
    assert lines(result) == [("recipe/train.py", 1)]
    assert "/tmp/" not in result["message"]["text"]
    (bare,) = run(whole)["results"]
    assert lines(bare) == [("train.py", 1)]


def test_a_pass_has_no_results() -> None:
    assert run(sample.passing())["results"] == []


def test_the_summary_says_verdict_findings_columns_and_offsets() -> None:
    told = report(sample.failing()).summary()
    assert told.startswith("## ❌ Fail: ")
    for words in ("recipe/model.py:61", "token count", "+0.011200", "| outcome |", "torchrun"):
        assert words in told
    assert "### Findings" not in report(sample.passing(), norm_runs=True).summary()
    cells = {line.count("|") for line in told.splitlines() if line.startswith("| ")}
    assert cells == {4, 5, 6}


def test_what_a_program_says_is_no_markup_in_the_summary() -> None:
    hostile = "a|b `c` <img src=x> @you #1 *d* [e](f)\nnext"
    comparison = Comparison("fail", "x", [finding("KNB001", hostile)], [], [])
    (line,) = [line for line in report(comparison).summary().splitlines() if line.startswith("| KNB001")]
    assert line.count("|") == 5
    for sign in ("`", "<img", "@you", "#1 ", "*d*", "[e]"):
        assert sign not in line
    assert "<br>next" in line


def test_many_findings_are_cut_and_counted() -> None:
    many = [finding("KNB001", f"knob {number}") for number in range(60)]
    told = report(Comparison("fail", "x", many, [], [])).summary()
    assert "knob 49 " in told
    assert "knob 50 " not in told
    assert "10 more" in told


@pytest.mark.parametrize("asked", [True, False])
def test_a_command_appends_the_summary_where_github_asks_for_it(
    asked: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    receipt = tmp_path / "receipt.json"
    receipt_files.write(sample.sample_receipts(updates=8)[Lane.ARTIFACT], receipt)
    summary, out = tmp_path / "summary", tmp_path / "out"
    summary.write_text("before\n")
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    if asked:
        monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    done = CliRunner().invoke(app, ["compare", str(receipt), str(receipt), "-o", str(out)])
    assert done.exit_code == 3, done.output
    assert {path.name for path in out.iterdir()} == {*FILES}
    written = (out / "summary.md").read_text("utf-8")
    assert summary.read_text("utf-8") == ("before\n" + written if asked else "before\n")
