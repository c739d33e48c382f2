"""The commands on a train.py that this project did not build: rehearsed, scored, compared in lockstep."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from scorer.cli.commands import app

pytestmark = pytest.mark.long

TINY = Path(__file__).parent / "cli_cases" / "tiny.py"
LAUNCH = "NEURON_LOGICAL_NC_CONFIG=2 torchrun --standalone --nproc_per_node=1 train.py"


def scorer(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def verdict(out: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((out / "verdict.json").read_bytes())
    return document


@pytest.fixture(scope="module")
def rehearsed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, Path]:
    out = tmp_path_factory.mktemp("rehearsed") / "out"
    return scorer("rehearse", TINY, "--launch", LAUNCH, "-o", out), out


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, Path]:
    """The file and a copy whose learning rate was nudged."""
    directory = tmp_path_factory.mktemp("compared")
    changed = directory / "changed.py"
    source = TINY.read_text(encoding="utf-8")
    assert "lr=0.01)" in source
    changed.write_text(source.replace("lr=0.01)", "lr=0.0101)"), encoding="utf-8")
    return scorer("compare", TINY, changed, "--launch", LAUNCH, "-o", directory / "out"), directory / "out"


def test_a_rehearsal_of_a_sound_file_passes_with_a_trusted_score(rehearsed: tuple[Result, Path]) -> None:
    result, out = rehearsed
    assert result.exit_code == 0, result.output
    document = verdict(out)
    assert document["verdict"] == "pass"
    assert [found["code"] for found in document["findings"]] == ["REV066", "REV087"]  # advice
    assert {row["label"]: row["trusted"] for row in document["rows"]}["val_bpb, official settings"]
    receipt = json.loads((out / "receipts" / "rehearsal.json").read_bytes())
    assert (receipt["clock"]["kind"], receipt["caches"]) == ("real", "cold")
    assert receipt["launch"]["text"] == LAUNCH
    assert (out / "lanes" / "rehearsal" / "log.txt").is_file()


def test_a_checkpoint_is_scored_alone_and_one_that_cannot_be_read_fails(
    rehearsed: tuple[Result, Path], tmp_path: Path
) -> None:
    checkpoint = rehearsed[1] / "lanes" / "rehearsal" / "out" / "final.pt"
    good = scorer("score", TINY, "--checkpoint", checkpoint, "-o", tmp_path / "score.json")
    assert good.exit_code == 0, good.output
    evaluations = json.loads((tmp_path / "score.json").read_bytes())["evaluations"]
    before = json.loads((rehearsed[1] / "receipts" / "trusted.json").read_bytes())["evaluations"]
    assert {e["name"]: e["val_bpb"] for e in evaluations} == {e["name"]: e["val_bpb"] for e in before}
    (tmp_path / "half.pt").write_bytes(checkpoint.read_bytes()[:1000])
    bad = scorer("score", TINY, "--checkpoint", tmp_path / "half.pt", "-o", tmp_path / "half.json")
    assert bad.exit_code == 1, bad.output
    assert "CKP" in bad.output


def test_two_files_that_differ_fail_with_the_value_and_the_line_that_steps(compared: tuple[Result, Path]) -> None:
    result, out = compared
    assert result.exit_code == 1, result.output
    first = verdict(out)["findings"][0]
    assert first["code"] == "OPT002"
    (line,) = (n for n, text in enumerate(TINY.read_text(encoding="utf-8").splitlines(), 1) if "lr=0.01)" in text)
    assert first["artifact_line"] == line
    stepped = next(found for found in verdict(out)["findings"] if found["code"].startswith("LCK"))
    line = TINY.read_text(encoding="utf-8").splitlines().index("        optimizer.step()") + 1
    assert (stepped["update"], stepped["artifact_line"]) == (0, line)


def test_two_receipts_are_compared_without_running_anything(compared: tuple[Result, Path]) -> None:
    receipts = compared[1] / "receipts"
    artifact, local, control = (receipts / f"{lane}.json" for lane in ("artifact", "local", "control"))
    assert scorer("compare", artifact, artifact, "--control", control).exit_code == 0
    assert scorer("compare", local, artifact, "--control", control).exit_code == 1
    unproven = scorer("compare", artifact, artifact)
    assert unproven.exit_code == 3
    assert "control" in unproven.output
