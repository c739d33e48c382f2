"""The commands: what they refuse and how they say so, and that a stop leaves nothing behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from typer.testing import CliRunner, Result

import scorer.trusted.judge
from parity_tests import report_sample as sample
from scorer.cli.commands import app, strict
from scorer.contest import CONTESTS, Profile, names
from scorer.findings import CODES
from scorer.room import receipts as receipt_files
from scorer.room.receipts import Lane, Receipt

ROOT = Path(__file__).parents[1]
LAUNCH = "NEURON_LOGICAL_NC_CONFIG=2 torchrun --standalone --nproc_per_node=1 train.py"


def scorer(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def train_py(tmp_path: Path) -> Path:
    path = tmp_path / "train.py"
    path.write_text('"""A file."""\n')
    return path


@pytest.fixture
def receipt(tmp_path: Path) -> Path:
    path = tmp_path / "receipt.json"
    receipt_files.write(sample.sample_receipts(updates=8)[Lane.ARTIFACT], path)
    return path


def test_every_command_explains_itself_with_an_example() -> None:
    for name in (
        "parity",
        "rehearse",
        "score",
        "compare",
        "check",
        "schema",
        "lane local",
        "lane artifact",
        "lane trusted",
        "contest list",
        "contest show",
    ):
        said = scorer(*name.split(), "--help")
        assert said.exit_code == 0, name
        assert f"scorer {name}" in said.output, name


def test_bad_input_is_one_message_with_place_and_remedy_and_exit_code_2(
    tmp_path: Path, train_py: Path, receipt: Path
) -> None:
    out = tmp_path / "out"
    broken = tmp_path / "broken.json"
    broken.write_text('{"lane": 1}')
    local = ("lane", "local", "-o", out)
    cases: list[tuple[tuple[str | Path, ...], tuple[str, ...]]] = [
        (("check", train_py, "--contest", "nowhere"), ("no such contest profile", "embedded")),
        (("check", tmp_path / "none.py"), ("none.py", "no such file")),
        (("check", CONTESTS), ("contests", "holds no train.py")),
        (("score", train_py, "--checkpoint", tmp_path / "none.pt"), ("none.pt", "no such file", "expected")),
        (("rehearse", train_py, "--launch", LAUNCH + " | tee log", "-o", out), ("word 6", "no pipe", "in: ")),
        (("rehearse", train_py, "--launch", LAUNCH, "-o", tmp_path), ("no result of this command", "-o")),
        (("compare", train_py, train_py), ("--launch is missing",)),
        (("compare", broken, receipt), ("broken.json", "not a receipt", "run the lane again")),
        (("compare", receipt, train_py, "--launch", LAUNCH), ("one is a receipt", "the same kind")),
        (("score", train_py, "--checkpoint", receipt, "-o", tmp_path), (str(tmp_path), "Is a directory")),
        (
            ("score", train_py, "--checkpoint", receipt, "-o", "/proc/none/x.json"),
            ("/proc/none/x.json", "check the path"),
        ),
        (("rehearse", train_py, "--launch", LAUNCH, "-o", "/proc/none"), ("/proc/none: cannot be made", "with -o")),
        (("compare", receipt, receipt, "--launch", LAUNCH), ("--launch", "leave it out")),
        ((*local, "--local", "python train.py"), ("torchrun",)),
        ((*local, "--local", LAUNCH, "--local-root", tmp_path / "none"), ("none", "no such directory")),
        ((*local, "--local", LAUNCH, "--local-env", "NAME"), ("--local-env NAME", "NAME=VALUE")),
        ((*local, "--local", LAUNCH, "--kit-sha256", "00"), ("--kit-sha256", "--kit DIR")),
        ((*local, "--local", LAUNCH, "--kit", tmp_path, "--kit-sha256", "00"), ("prepare.py", "point --kit at")),
        ((*local, "--local", LAUNCH, "--kit", tmp_path / "no", "--kit-sha256", "00"), ("no such directory", "--kit")),
        ((*local[:2], "-o", train_py / "x", "--local", LAUNCH), ("train.py/x: cannot be made", "with -o")),
    ]
    for arguments, expected in cases:
        result = scorer(*arguments)
        assert result.exit_code == 2, (arguments, result.output)
        assert "Traceback" not in result.output
        for words in expected:
            assert words in result.output, (words, result.output)
        assert not out.exists()


def test_a_kit_with_another_hash_is_refused_before_anything_of_it_runs(tmp_path: Path) -> None:
    (tmp_path / "prepare.py").write_text("from pathlib import Path\nPath(__file__).with_name('ran').touch()\n")
    result = scorer(
        "lane", "local", "--local", LAUNCH, "-o", tmp_path / "o", "--kit", tmp_path, "--kit-sha256", "0" * 64
    )
    assert result.exit_code == 2
    assert "use the organiser's file unchanged" in result.output
    assert sorted(path.name for path in tmp_path.iterdir()) == ["prepare.py"]


def test_schemas_are_json_schemas_of_the_documents(receipt: Path) -> None:
    shown = json.loads(scorer("schema").output)
    assert shown == Receipt.model_json_schema()
    assert json.loads(scorer("schema", "verdict").output)["title"] == "Verdict"
    assert json.loads(scorer("schema", "kernels").output)["title"] == "KernelReport"
    assert json.loads(scorer("schema", "profile").output)["title"] == "UpdateProfile"
    assert json.loads(scorer("schema", "trial").output)["title"] == "ChangeTrial"
    assert json.loads(scorer("schema", "contest").output) == Profile.model_json_schema()
    assert set(json.loads(receipt.read_text())) <= set(shown["properties"])


def test_profiles_are_listed_and_shown_with_how_each_field_is_known(tmp_path: Path) -> None:
    assert [line.split()[0] for line in scorer("contest", "list").output.splitlines()] == names()
    rows = [line.split() for line in scorer("contest", "show", "trainium-frontier-phase1").output.splitlines()]
    assert ["files.size_limit_bytes", "262,144", "stated"] in rows
    assert ["evaluation.official.split", "private_val", "inferred"] in rows
    assert ["launch.flags", "yes", "stated"] in rows
    changed = tmp_path / "mine.yaml"
    text = (CONTESTS / "embedded.yaml").read_text("utf-8")
    changed.write_text(text.replace("rules: {}", "rules: {REV999: off}"), "utf-8")
    refused = scorer("contest", "show", changed)
    assert refused.exit_code == 2
    assert "rules.REV999: expected the code of a finding" in refused.output
    changed.write_text(text.replace("rules: {}", "rules: {PUR010: off}"), "utf-8")  # of the last module to be imported
    assert scorer("contest", "show", changed).exit_code == 0


def test_a_review_knows_the_codes_of_what_it_does_not_import(tmp_path: Path, train_py: Path) -> None:
    """In a process of its own: here everything is imported already."""
    contest = tmp_path / "mine.yaml"
    text = (CONTESTS / "embedded.yaml").read_text("utf-8")
    contest.write_text(text.replace("rules: {}", "rules: {RUN001: off, PUR010: off, SCR008: off}"), "utf-8")
    words = [sys.executable, "-m", "scorer", "check", str(train_py), "--contest", str(contest)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=CONTESTS.parents[1])
    assert done.returncode == 1, done.stderr  # load_for_eval is missing, and nothing is wrong with the profile


def test_check_prints_findings_for_people_and_for_programs(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text("import os\n\nFLAGS = os.environ.setdefault('NEURON_CC_FLAGS', '--optlevel=1')\n")
    text = scorer("check", path)
    assert text.exit_code == 1
    assert "train.py:3" in text.output
    found = json.loads(scorer("check", path, "--format", "json").output)
    assert {"file": "train.py", "line": 3} in [finding["place"] for finding in found]


@pytest.mark.long
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_stop_ends_every_process_and_leaves_nothing_half_written(
    number: signal.Signals, code: int, tmp_path: Path
) -> None:
    program = tmp_path / "recipe"
    program.mkdir()
    # No sleep: on the lane's virtual clock that takes no time.
    (program / "slow.py").write_text("import threading\n\nprint('up', flush=True)\nthreading.Event().wait(600)\n")
    command = [
        sys.executable, "-m", "scorer", "lane", "local", "--local-root", str(program), "-o", str(tmp_path / "out"),
        "--local", "torchrun --standalone --nproc_per_node=2 slow.py",
    ]  # fmt: skip
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    environment = {**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(command, env=environment, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    try:
        _wait_for(lambda: _ranks(program) == 2 or process.poll() is not None)
        assert process.poll() is None, process.communicate()
        process.send_signal(number)
        _, said = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == code
    assert "nothing was written" in said
    assert "Traceback" not in said
    _wait_for(lambda: _ranks(program) == 0)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["recipe", "tmp"]
    assert list(temporary.iterdir()) == []


def _ranks(program: Path) -> int:
    """Processes that run the slow program with a rank."""
    found = 0
    for process in psutil.process_iter():
        try:
            found += str(program / "slow.py") in process.cmdline() and "RANK" in process.environ()
        except (psutil.Error, OSError):
            continue
    return found


def _wait_for(condition: object, seconds: float = 60.0) -> None:
    assert callable(condition)
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.1)


def test_strict_makes_advice_decide_and_leaves_the_rest_as_it_was() -> None:
    profile = sample.sample_profile()
    advice = [code for code, entry in CODES.items() if entry.severity == "advice"]
    rules = {advice[0]: "off", "LCK005": "advice"}
    profile = Profile.model_validate({**profile.model_dump(), "rules": rules})
    assert strict(profile).rules == {**dict.fromkeys(advice, "hard"), advice[0]: "off", "LCK005": "hard"}


@pytest.mark.parametrize("name", ["TORCH_LOGS", "ATEN_CPU_CAPABILITY"])
def test_settings_of_the_callers_torch_do_not_reach_the_judge(name: str) -> None:
    code = "import os, sys; from scorer.cli import main; sys.argv = ['scorer', 'schema']\ntry: main()\nfinally: "
    code += f"print({name!r} in os.environ, file=sys.stderr)"
    environment = {**os.environ, name: "", "PYTHONPATH": str(ROOT)}
    ran = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "False\n")
