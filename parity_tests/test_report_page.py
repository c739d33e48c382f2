"""The report page: what it says, that it stands alone, and that it is the same every time."""

from __future__ import annotations

import hashlib
import html
import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest

from parity_tests import report_sample as sample
from scorer.compare import Comparison
from scorer.findings import Place, finding
from scorer.report.html import page
from scorer.report.sections.offsets import told
from scorer.report.view import View, view
from scorer.report.words import plain
from scorer.room.receipts import Lane, Outcome


@pytest.fixture(scope="module")
def failing() -> View:
    receipts = sample.sample_receipts(norm_runs=False)
    return view(sample.failing(), receipts, sample.sample_artifact(), sample.sample_profile())


@pytest.fixture(scope="module")
def passing() -> View:
    return view(sample.passing(), sample.sample_receipts(), sample.sample_artifact(), sample.sample_profile())


class Reader(HTMLParser):
    """Collects tags, the addresses they name, and the text outside of styles."""

    VOID = frozenset({"meta", "link", "br", "img", "input", "hr"})

    def __init__(self, document: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.addresses: list[str] = []
        self.identifiers: list[str] = []
        self.references: list[str] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(document)
        assert self._open == [], f"never closed: {self._open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            if name in {"src", "href", "xlink:href", "action", "srcset", "poster", "data"} and value:
                (self.references if value.startswith("#") else self.addresses).append(value)
            if name == "id" and value:
                self.identifiers.append(value)
        if tag not in self.VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self._open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self._open[-1] == tag, f"</{tag}> closes <{self._open[-1]}>"
        self._open.pop()

    def handle_data(self, data: str) -> None:
        if "style" not in self._open:
            self.text += data


def test_the_page_is_well_formed_and_needs_nothing_but_itself(failing: View) -> None:
    document = page(failing)
    reader = Reader(document)
    assert "script" not in reader.tags
    assert [address for address in reader.addresses if not address.startswith("data:")] == []
    assert "@import" not in document
    assert not re.search(r"url\((?!#)", document)
    assert "screen and (prefers-color-scheme: dark)" in document


@pytest.mark.parametrize("which", ["passing", "failing"])
def test_the_page_has_the_structure_that_a_reader_without_eyes_needs(
    which: str, request: pytest.FixtureRequest
) -> None:
    document = page(request.getfixturevalue(which))
    assert '<html lang="en">' in document
    assert len(re.findall(r"<title>[^<]+</title>", document)) == 1
    levels = [int(level) for level in re.findall(r"<h([1-6])", document)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    tables = re.findall(r"<table.*?</table>", document, re.DOTALL)
    assert len(tables) >= 5
    for table in tables:
        assert "<caption>" in table
        assert table.count("<th ") == table.count('<th scope="')
        if "<thead>" in table:
            assert all("data-label" in cell for cell in re.findall(r"<td[^>]*>", table))
    for control in re.findall(r"<(?:details|svg)[^>]*>.{0,60}", document, re.DOTALL):
        assert "<summary" in control or 'aria-hidden="true"' in control, control


def luminance(colour: str) -> float:
    """Of `#rrggbb`: www.w3.org/TR/WCAG21, relative luminance."""
    shares = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted(map(luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_colours_of_text_can_be_read_on_every_ground(scheme: int, passing: View) -> None:
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)  # just too pale
    roots = re.findall(r":root \{(.*?)\}", page(passing), re.DOTALL)
    colours = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", roots[scheme]))
    assert len(colours) >= 16
    pairs = [(text, ground) for text in ("ink", "muted") for ground in ("page", "surface", "sunk")]
    for tone in ("pass", "fail", "unsure"):
        pairs += [(tone, "surface"), (tone, f"{tone}-soft"), ("ink", f"{tone}-soft"), ("muted", f"{tone}-soft")]
    pale = {pair: round(found, 2) for pair in pairs if (found := contrast(*(colours[name] for name in pair))) < 4.5}
    assert not pale


def test_lines_that_are_named_are_shown_in_recipe_and_artifact(tmp_path: Path) -> None:
    recipe = tmp_path / "recipe"
    recipe.mkdir()
    (recipe / "model.py").write_text("".join(f"recipe line {number}\n" for number in range(1, 99)))
    sha256 = hashlib.sha256((recipe / "model.py").read_bytes()).hexdigest()
    artifact = sample.sample_artifact()
    artifact = replace(artifact, source="".join(f"built line {number}\n" for number in range(1, 500)))

    def shown(recipe: Path | None, sources: dict[str, str]) -> View:
        built = replace(artifact, manifest={**(artifact.manifest or {}), "sources": sources})
        receipts = sample.sample_receipts(norm_runs=False)
        return view(sample.failing(), receipts, built, sample.sample_profile(), recipe=recipe)

    whole = shown(tmp_path, {"recipe/model.py": sha256})
    first = whole.sources[0]
    assert (first.place, first.artifact_line) == ("recipe/model.py:61", 402)
    assert [line.text for line in first.recipe if line.marked] == ["recipe line 61"]
    assert [line.text for line in first.artifact if line.marked] == ["built line 402"]
    document = page(whole)
    assert document.index('<a href="#source-1"><code>recipe/model.py:61</code></a>') < document.index('id="source-1"')
    for view_without, why in (
        (shown(None, {}), "was not at hand"),
        (shown(tmp_path / "recipe", {}), "not in the recipe's directory"),
        (shown(tmp_path, {"recipe/model.py": "0" * 64}), "has changed since"),
    ):
        other = view_without.sources[0]
        assert other.recipe == ()
        assert why in other.missing
        assert why in html.unescape(page(view_without))


def test_no_file_outside_of_the_recipe_is_shown(tmp_path: Path) -> None:
    (tmp_path / "secret.py").write_text("secret\n" * 9)
    (tmp_path / "recipe").mkdir()
    found = finding("KNB001", "x", place=Place(file="../secret.py", line=3), artifact_line=2)
    comparison = Comparison("fail", "x", [found], [], [])
    shown = view(comparison, {}, sample.sample_artifact(), sample.sample_profile(), recipe=tmp_path / "recipe")
    assert shown.sources[0].recipe == ()
    assert "secret\n" not in page(shown)


def test_every_identifier_is_used_once_and_every_reference_hits(failing: View) -> None:
    reader = Reader(page(failing))
    assert len(reader.identifiers) == len(set(reader.identifiers))
    assert {reference[1:] for reference in reader.references} <= set(reader.identifiers)


def test_a_failure_names_the_first_difference_with_place_and_remedy_before_everything_else(failing: View) -> None:
    text = Reader(page(failing)).text
    assert failing.first is not None
    for said in (failing.first.message, "recipe/model.py:61", "train.py line 402", failing.first.remedy):
        assert text.index(said) < text.index("The recipe as its author runs it"), said


def test_a_pass_shows_no_difference(passing: View) -> None:
    text = Reader(page(passing)).text
    assert "First difference" not in text
    assert "≠" not in text
    assert "agree bit for bit at all 118 updates" in text


def test_a_failure_shows_each_finding_with_the_paragraph_of_its_code(failing: View) -> None:
    text = Reader(page(failing)).text
    for shown in failing.findings:
        assert shown.code in text
        assert shown.why in text
        assert shown.remedy in text
    assert "part at update 3" in text


def test_the_kernel_that_stopped_launching_is_marked_and_the_others_are_not(failing: View) -> None:
    differing = {
        kernel.kernel: (kernel.expected, kernel.local, kernel.artifact)
        for kernel in failing.kernels
        if not kernel.agree
    }
    assert differing == {"rms_norm_forward": ("9", "9", "0 to 9")}


def test_the_operator_that_ran_instead_is_shown(failing: View, passing: View) -> None:
    assert [(row.operator, row.local, row.artifact) for row in failing.operators] == [("aten::rsqrt", 0, 9)]
    assert passing.operators == ()


def test_variables_that_differ_or_matter_are_shown_and_the_launchers_are_not(failing: View, passing: View) -> None:
    assert (failing.environment[0].name, failing.environment[0].agree) == ("NEURON_CC_FLAGS", False)
    assert {row.name: row.agree for row in passing.environment}["NEURON_CC_FLAGS"]
    assert "RANK" not in {row.name for row in (*failing.environment, *passing.environment)}


def test_the_waterfall_starts_at_the_recipes_number_and_ends_at_the_official_one(passing: View) -> None:
    shown = passing.waterfall
    assert shown is not None
    assert shown.bars[0].offset.from_bpb == pytest.approx(1.83421)
    assert shown.bars[-1].offset.to_bpb == pytest.approx(1.84093)
    for bar in shown.bars:
        assert shown.low < min(bar.offset.from_bpb, bar.offset.to_bpb)
        assert shown.high > max(bar.offset.from_bpb, bar.offset.to_bpb)
        assert 0 <= bar.left <= bar.left + bar.width <= 100


def test_a_part_that_is_expected_is_not_shown_as_measured(passing: View) -> None:
    assert "others' uploads" not in Reader(page(passing)).text
    comparison = sample.passing()
    *measured, last = comparison.offsets
    known = replace(
        last, name="official minus public, expected", reaches="expected, official settings", spread_bpb=4e-4
    )
    shown = view(
        replace(comparison, offsets=[*measured, known]),
        sample.sample_receipts(),
        sample.sample_artifact(),
        sample.sample_profile(),
    )
    text = Reader(page(shown)).text
    assert "official minus public, expected ± 0.00040" in re.sub(r"\s+", " ", text)
    assert "what others' uploads have shown" in text
    assert shown.waterfall is not None
    assert told(shown.waterfall.bars[-1].offset) == "-0.004480 ± 0.0004"


def test_the_purity_tests_are_shown_with_every_trial_and_what_was_not_run(passing: View, failing: View) -> None:
    document = Reader(page(passing))
    assert "purity" in document.identifiers
    by_test = {test.test: test for test in passing.purity}
    assert by_test["causality"].outcome == "passed"
    assert by_test["causality"].counts == "1 not run, 1 passed"
    assert [trial.reason for trial in by_test["causality"].open_trials] == ["kernels take tensors on neuron"]
    assert (by_test["batch size"].largest, by_test["batch size"].allowed) == ("0.0102", "0.061")
    assert (by_test["bounded memory"].largest, by_test["bounded memory"].allowed) == ("1.0 MiB", "16.0 MiB")
    for words in ("in a batch of 7", "kernels take tensors on neuron", "1e-05 bpb", "in 3.4 s"):
        assert words in document.text
    receipts = sample.sample_receipts()
    tests = receipts[Lane.TRUSTED].purity
    tests[3] = tests[3].model_copy(update={"outcome": "failed", "reason": "the logits are different"})
    shown = view(sample.failing(), receipts, sample.sample_artifact(), sample.sample_profile())
    assert [test.test for test in shown.purity if test.outcome == "failed"] == ["batch size"]
    assert "✗ failed" in Reader(page(shown)).text
    assert "✗ failed" not in document.text


def test_a_lane_that_failed_shows_what_it_said_last_and_one_that_did_not_says_nothing(passing: View) -> None:
    receipts = sample.sample_receipts()
    died = {
        "outcome": Outcome.FAILED,
        "problem": "rank 1 was killed by SIGKILL",
        "log_tail": ["/tmp/x/train.py says", "bye"],
    }
    receipts[Lane.ARTIFACT] = receipts[Lane.ARTIFACT].model_copy(update=died)
    shown = view(sample.undecided(), receipts, sample.sample_artifact(), sample.sample_profile())
    text = Reader(page(shown)).text
    assert "rank 1 was killed by SIGKILL" in text
    assert "…/train.py says\nbye" in text
    assert passing.troubles == ()


def test_text_of_the_submission_cannot_become_markup() -> None:
    receipts = sample.sample_receipts()
    artifact = sample.sample_artifact()
    hostile = artifact.manifest | {"knobs": {"name": {"value": "<script>alert(1)</script>", "origin": "<b>"}}}  # type: ignore[operator]
    artifact = type(artifact)(**{**vars(artifact), "manifest": hostile})
    document = page(view(sample.passing(), receipts, artifact, sample.sample_profile()))
    assert "<script" not in document
    assert "&lt;script&gt;" in document


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("/tmp/room-1/work/out/final.pt is missing", "…/final.pt is missing"),
        ("PYTHONPATH=/a/b:/c/d/", "PYTHONPATH=…/b:…/d"),
        ("<caches>/neuron", "<caches>/neuron"),
        ("recipe/model.py:12 and 3/4 of aten::mm", "recipe/model.py:12 and 3/4 of aten::mm"),
        ("https://example.org/a/b", "https://example.org/a/b"),
    ],
)
def test_absolute_paths_are_cut_and_nothing_else_is(said: str, shown: str) -> None:
    assert plain(said) == shown
