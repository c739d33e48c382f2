"""The table of finding codes: whole, documented, and told alike by the command, its pages and the reports."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from scorer.cli.commands import app
from scorer.compare import verdict
from scorer.findings import CODES, FAMILIES, Severity, define
from scorer.listing import pages
from scorer.listing.codes import INDEX
from scorer.report.codes import every_code

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs" / "findings"


def scorer(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_every_code_that_the_sources_define_is_in_the_table() -> None:
    stated = {
        code
        for path in (ROOT / "scorer").rglob("*.py")
        for code in re.findall(r"\bdefine\(\s*\"([A-Z]{3}[0-9]{3})\"", path.read_text("utf-8"))
    }
    rules = {
        re.match(r"code: (\w+)", path.read_text("utf-8"))[1]  # type: ignore[index]
        for path in (ROOT / "scorer" / "rules").glob("*.yaml")
    }
    assert {"KNB001", "RUN001", "PUR010"} <= stated
    assert every_code().keys() == stated | rules


def test_every_family_is_known_and_ordered() -> None:
    assert {code[:3] for code in every_code()} == FAMILIES.keys() == set(verdict.FAMILIES)
    with pytest.raises(ValueError, match="XYZ001 is of no known family"):
        define("XYZ001", title="x", why="x", remedy="x")
    assert "XYZ001" not in CODES


def test_every_code_says_what_why_and_what_to_do() -> None:
    for code, meaning in every_code().items():
        for text in (meaning.title, meaning.why, meaning.remedy):
            assert text == text.strip() != "", code
        assert not meaning.title.endswith("."), code
        assert meaning.example or not code.startswith("REV") or code == "REV001", code


def test_the_committed_pages_are_those_of_the_definitions() -> None:
    written = {path.name: path.read_text("utf-8") for path in DOCS.iterdir()}
    expected = pages(every_code())
    differ = sorted(name for name in written.keys() | expected.keys() if written.get(name) != expected.get(name))
    assert not differ, f"{', '.join(differ)}: run `python -m scorer findings --pages docs/findings` and commit it"


def test_a_page_tells_everything_and_the_index_leads_to_it() -> None:
    codes = every_code()
    written = pages(codes)
    assert len(written) == len(codes) + 1
    assert written["REV010.md"].startswith("# REV010 Reads the environment\n")
    for text in ("os.environ.get(", codes["REV010"].why, codes["REV010"].remedy, "Weight: decides"):
        assert text in written["REV010.md"]
    assert "## Example" not in written["KNB001.md"]
    linked = set(re.findall(r"\]\((\w+\.md)\)", written[INDEX]))
    assert linked == written.keys() - {INDEX}


def test_pages_are_written_and_those_of_codes_that_are_gone_removed(tmp_path: Path) -> None:
    (tmp_path / "KNB999.md").write_text("gone")
    (tmp_path / "notes.md").write_text("mine")
    assert scorer("findings", "--pages", tmp_path).exit_code == 0
    assert {path.name for path in tmp_path.iterdir()} == {*pages(every_code()), "notes.md"}
    refused = scorer("findings", "KNB001", "--pages", tmp_path)
    assert refused.exit_code == 2
    assert "name none" in refused.output


def test_codes_are_listed_and_explained() -> None:
    listed = scorer("findings").stdout.splitlines()
    assert len(listed) == len(every_code())
    assert "KRN001 hard   A required kernel never ran" in [line.rstrip() for line in listed]
    told = " ".join(scorer("findings", "krn001", "REV010").stdout.split())
    for code in ("KRN001", "REV010"):
        assert CODES[code].why in told
        assert f"Instead: {CODES[code].remedy}" in told
    unknown = scorer("findings", "KRN999")
    assert unknown.exit_code == 2
    assert "knows no such code" in unknown.output


def test_advice_is_told_as_advice() -> None:
    advice = min(code for code, meaning in every_code().items() if meaning.severity is Severity.ADVICE)
    assert "Weight: advice" in pages(every_code())[f"{advice}.md"]
