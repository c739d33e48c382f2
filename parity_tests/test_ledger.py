"""The ledger of uploads: nothing that was recorded is lost or passed over, and changes and rations are told right."""

from __future__ import annotations

import datetime
import errno
import json
import multiprocessing
import os
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from parity_tests import report_sample as sample
from parity_tests.test_review_artifact import write as build
from scorer import ledger
from scorer.artifact import Artifact
from scorer.cli.commands import app
from scorer.contest import load
from scorer.ledger import LedgerError, Score, Upload
from scorer.ledger.records import uploads
from scorer.report import Report

DAY = datetime.date(2026, 9, 2)  # a Wednesday
TRAINIUM = load("trainium-frontier-phase1")


def upload(number: int = 0, **fields: Any) -> Upload:
    record = ledger.of_artifact(sample.sample_artifact(), TRAINIUM, DAY, note=f"number {number}")
    return record.model_copy(update={"artifact_sha256": f"{number:064x}", **fields})


def scorer(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def _append_many(path: Path, first: int, count: int) -> None:
    for number in range(first, first + count):
        ledger.append(path, upload(number))


def test_what_is_appended_is_read_again_in_order(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "uploads.jsonl"
    records = [upload(1), upload(2, bpb=0.1 + 0.2), Score(date=DAY, contest="c", artifact_sha256="0" * 64, bpb=1.0)]
    for record in records:
        told = ledger.append(path, record)
    assert told == ledger.read(path) == records
    assert path.read_bytes().count(b"\n") == 3


def test_writers_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "uploads.jsonl"
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=_append_many, args=(path, 100 * number, 15)) for number in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
    assert [writer.exitcode for writer in writers] == [0] * 4
    found = {record.artifact_sha256 for record in ledger.read(path)}
    assert found == {f"{100 * number + index:064x}" for number in range(4) for index in range(15)}
    assert len(ledger.read(path)) == 60


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda content: content[:-30], r"uploads\.jsonl:3: the last line ends in its middle, at '\{.*remove the line"),
        (lambda content: content[:-1], r"uploads\.jsonl:3: the last line ends in its middle"),
        (lambda content: content + b"\0" * 64, r"uploads\.jsonl:4: the last line ends in its middle"),
        (lambda content: content.replace(b"number 2", b"number \0\0"), r"uploads\.jsonl:2: 2 NUL bytes"),
        (lambda content: content.replace(b'"kind": "upload"', b'"kind": "other"', 1), r"uploads\.jsonl:1: no record"),
        (lambda content: content.replace(b"2026-09-02", b"2026-09-99"), r"uploads\.jsonl:1: .*date"),
        (lambda content: b"\n" + content, r"uploads\.jsonl:1: no record"),
        (lambda content: content.replace(b'"note"', b'"notes"', 1), r"notes: Extra inputs"),
    ],
)
def test_damage_is_told_by_line_and_nothing_is_added_to_it(damage: Any, said: str, tmp_path: Path) -> None:
    path = tmp_path / "uploads.jsonl"
    _append_many(path, 1, 3)
    damaged = damage(path.read_bytes())
    path.write_bytes(damaged)
    with pytest.raises(LedgerError, match=said):
        ledger.read(path)
    with pytest.raises(LedgerError, match=said):
        ledger.append(path, upload(4))
    assert path.read_bytes() == damaged


def test_a_disk_that_is_full_leaves_the_ledger_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "uploads.jsonl"
    ledger.append(path, upload(1))
    before = path.read_bytes()
    whole = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: whole(descriptor, data[:20]))
    with pytest.raises(OSError, match="uploads") as caught:
        ledger.append(path, upload(2))
    assert caught.value.errno == errno.ENOSPC
    assert path.read_bytes() == before


def test_a_ledger_that_somebody_holds_is_told_and_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import fcntl

    path = tmp_path / "uploads.jsonl"
    ledger.append(path, upload(1))
    monkeypatch.setattr("scorer.ledger.book._PATIENCE", 0.05)
    with path.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(LedgerError, match="another process has held it"):
            ledger.append(path, upload(2))
    assert len(ledger.append(path, upload(2))) == 2


def test_a_week_is_from_monday_to_sunday_and_counts_one_contest() -> None:
    days = [datetime.date(2026, 8, 30), *(datetime.date(2026, 8, 31),) * 2, datetime.date(2026, 9, 6)]
    records: list[Upload | Score] = [upload(number, date=day) for number, day in enumerate(days)]
    records += [upload(9, contest="another"), Score(date=DAY, contest=TRAINIUM.name, artifact_sha256="0" * 64, bpb=1.0)]
    assert str(ledger.week(records, TRAINIUM, DAY)) == "2 of 5 uploads left in the week of 2026-08-31"
    assert str(ledger.week(records, TRAINIUM, datetime.date(2026, 9, 7))).startswith("5 of 5")
    assert "states no ration" in str(ledger.week(records, load("embedded"), DAY))
    many: list[Upload | Score] = [upload(number) for number in range(7)]
    assert "0 of 5 uploads left" in str(ledger.week(many, TRAINIUM, DAY))
    assert "(2 more than the contest allows)" in str(ledger.week(many, TRAINIUM, DAY))


def test_a_score_that_becomes_known_later_belongs_to_its_upload() -> None:
    later = Score(date=DAY, contest=TRAINIUM.name, artifact_sha256=f"{1:064x}", bpb=0.9)
    assert [one.bpb for one in uploads([upload(1), upload(2), later], TRAINIUM.name)] == [0.9, None]


def test_changes_are_told_knob_by_knob_and_file_by_file() -> None:
    then = upload(1, knobs={"depth": 4, "gone": None, "rate": 1}, sources={"a.py": "1", "b.py": "2"}, size_bytes=100)
    now = upload(2, knobs={"depth": 4, "new": "x", "rate": 1.0}, sources={"a.py": "1", "b.py": "3"}, size_bytes=90)
    found = ledger.changes(then, now)
    assert [(knob.name, knob.before, knob.after) for knob in found.knobs] == [
        ("gone", "null", ""), ("new", "", '"x"'), ("rate", "1", "1.0"),
    ]  # fmt: skip
    assert found.sentence == (
        "train.py is another file, 10 bytes shorter: 1 of 2 sources changed (b.py); the launch string is the same."
    )
    same = ledger.changes(then, then)
    assert same.knobs == ()
    assert same.sentence.startswith("train.py is the same, byte for byte")
    assert f"the launch string was {then.launch}" in ledger.changes(then, upload(1, launch="x")).sentence


def test_every_report_tells_what_changed_since_the_last_upload(tmp_path: Path) -> None:
    artifact, profile = sample.sample_artifact(), sample.sample_profile()
    now = ledger.of_artifact(artifact, profile, DAY)
    then = now.model_copy(update={"knobs": {**now.knobs, "depth": 77}, "artifact_sha256": "ab" * 32, "bpb": 1.25})
    plain = Report(sample.passing(), sample.sample_receipts(), artifact, profile)
    told = Report(sample.passing(), sample.sample_receipts(), artifact, profile, ledger.changes(then, now))
    plain.write(tmp_path / "plain")
    told.write(tmp_path / "told")
    for name in ("report.html", "summary.md", "verdict.json"):
        without, text = ((tmp_path / which / name).read_text("utf-8") for which in ("plain", "told"))
        assert "abababababab" in text, name
        assert "77" in text, name
        assert "abababababab" not in without, name
    document = json.loads((tmp_path / "told" / "verdict.json").read_bytes())
    assert document["last_upload"]["knobs"] == [{"name": "depth", "before": "77", "after": "4"}]
    assert json.loads((tmp_path / "plain" / "verdict.json").read_bytes())["last_upload"] is None


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "pyproject.toml").write_text("")
    directory = tmp_path / "artifact"
    directory.mkdir()
    build(directory, '"""A file."""\n')
    manifest = json.loads((directory / "manifest.json").read_bytes())
    (directory / "manifest.json").write_text(json.dumps({**manifest, "contest": {"name": "embedded", "version": 1}}))
    deep = tmp_path / "deep"
    deep.mkdir()
    monkeypatch.chdir(deep)
    return directory


def test_the_commands_record_score_and_list(built: Path, tmp_path: Path) -> None:
    sha256 = Artifact.load(built).sha256
    recorded = scorer("upload", "record", built, "--date", "2026-09-02", "--note", "first")
    assert recorded.exit_code == 0, recorded.output
    assert f"{sha256[:12]} is recorded; 1 upload made in the week of 2026-08-31" in recorded.output
    (record,) = ledger.read(tmp_path / "uploads.jsonl")  # beside the pyproject.toml above
    assert isinstance(record, Upload)
    assert (record.artifact_sha256, record.verdict, record.bpb) == (sha256, None, None)
    assert scorer("upload", "score", sha256[:8], "--bpb", "1.5", "--date", "2026-09-03").exit_code == 0
    listed = scorer("upload", "list", "--date", "2026-09-03")
    assert listed.exit_code == 0
    for words in ("2026-09-02", sha256[:12], "1.500000", "first", "1 upload made in the week"):
        assert words in listed.output


def test_the_verdict_of_the_uploaded_file_is_recorded_and_no_other(built: Path, tmp_path: Path) -> None:
    artifact = Artifact.load(built)
    report = Report(sample.failing(), sample.sample_receipts(), artifact, sample.sample_profile())
    report.write(tmp_path / "report")
    assert scorer("upload", "record", built, "--report", tmp_path / "report").exit_code == 0
    (record,) = ledger.read(tmp_path / "uploads.jsonl")
    assert isinstance(record, Upload)
    assert record.verdict == "fail"
    assert record.verdict_sha256 is not None
    other = Report(sample.failing(), sample.sample_receipts(), sample.sample_artifact(), sample.sample_profile())
    other.write(tmp_path / "other")
    refused = scorer("upload", "record", built, "--report", tmp_path / "other")
    assert refused.exit_code == 2
    assert "run `scorer parity` on what was uploaded" in refused.output
    assert len(ledger.read(tmp_path / "uploads.jsonl")) == 1


def test_what_cannot_be_recorded_is_refused(built: Path, tmp_path: Path) -> None:
    for arguments, said in (
        (("list",), "no such ledger"),
        (("score", "abc", "--bpb", "1"), "no such ledger"),
        (("record", built, "--bpb", "nan"), "a number above 0"),
        (("record", built, "--report", tmp_path), "no such file; --report"),
        (("record", built, "--contest", "trainium-frontier-phase1"), "was built for embedded"),
    ):
        refused = scorer("upload", *arguments)
        assert refused.exit_code == 2, refused.output
        assert said in " ".join(refused.output.split()), refused.output
    assert not (tmp_path / "uploads.jsonl").exists()
    scorer("upload", "record", built)
    unknown = scorer("upload", "score", "fff", "--bpb", "1")
    assert unknown.exit_code == 2
    assert "no upload of embedded" in unknown.output
    torn = tmp_path / "uploads.jsonl"
    torn.write_bytes(torn.read_bytes()[:-5])
    assert "uploads.jsonl:1: the last line" in scorer("upload", "list").output
