"""What `scorer check` and `scorer rules` print: text, JSON, SARIF, GitHub's annotations; in one order; soon."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from typer.testing import CliRunner, Result

from parity_tests.hand_kept import write as hand_kept
from parity_tests.test_review_artifact import write as build
from scorer.cli.commands import app
from scorer.contest import CONTESTS
from scorer.review import ALL_RULES

ROOT = Path(__file__).parents[1]
SCHEMA = json.loads((Path(__file__).parent / "schemas" / "sarif-schema-2.1.0.json").read_text("utf-8"))
PROGRAM = '''"""Launch: torchrun. Budget: 60 seconds. load_for_eval returns the model."""
import os


def load_for_eval(checkpoint_path, device):
    größe = "é"; return os.environ["DEPTH"], größe
'''


def scorer(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def train_py(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "train.py"
    path.write_text(PROGRAM, "utf-8")
    return Path("train.py")


def log(*arguments: str | Path) -> Any:
    document = json.loads(scorer("check", *arguments, "--format", "sarif").stdout)
    jsonschema.validate(document, SCHEMA, cls=jsonschema.Draft7Validator)
    (run,) = document["runs"]
    return run


def test_text_shows_the_line_with_a_mark_under_what_was_found(train_py: Path) -> None:
    shown = scorer("check", train_py)
    assert shown.exit_code == 1
    lines = shown.stdout.splitlines()
    assert lines[0] == 'train.py:6:25: REV010: reads DEPTH from the environment: os.environ["DEPTH"]'
    assert lines[1] == '    6 |     größe = "é"; return os.environ["DEPTH"], größe'
    assert lines[2].rstrip() == "      | " + " " * 24 + "^" * len('os.environ["DEPTH"]')
    assert lines[3].startswith("      = Make it a knob")
    assert lines[-2:] == ["    1 REV010 reads the environment", "1 finding, 0 for advice"]
    assert "\x1b" not in shown.stdout


def test_a_clean_file_passes(train_py: Path) -> None:
    train_py.write_text(PROGRAM.replace('os.environ["DEPTH"]', "os.getpid()"), "utf-8")
    shown = scorer("check", train_py)
    assert (shown.exit_code, shown.stdout) == (0, "0 findings, 0 for advice\n")
    assert scorer("check", train_py, "--format", "github").stdout == ""
    assert json.loads(scorer("check", train_py, "--format", "json").stdout) == []
    assert log(train_py)["results"] == []


def test_advice_alone_passes(train_py: Path) -> None:
    train_py.write_text(PROGRAM.replace('os.environ["DEPTH"]', "os._exit(0)"), "utf-8")
    shown = scorer("check", train_py)
    assert shown.exit_code == 0
    assert "0 findings, 1 for advice" in shown.stdout


def test_what_a_submission_writes_cannot_steer_the_terminal(train_py: Path) -> None:
    train_py.write_text(PROGRAM.replace("DEPTH", "\x1b[2J\u202eDEPTH"), "utf-8")
    shown = scorer("check", train_py).stdout
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert "\\u001b[2J\\u202eDEPTH" in shown


def test_a_very_long_line_is_shown_around_what_was_found(train_py: Path) -> None:
    train_py.write_text(
        PROGRAM.replace("return os", f"assert {'device or ' * 3000}checkpoint_path; return os"), "utf-8"
    )
    lines = scorer("check", train_py).stdout.splitlines()
    assert 'os.environ["DEPTH"]' in lines[1]
    assert len(lines[1]) < 160
    assert lines[1][lines[2].index("^") :].startswith('os.environ["DEPTH"]')


def test_json_says_where_why_and_what_to_do(train_py: Path) -> None:
    (found,) = json.loads(scorer("check", train_py, "--format", "json").stdout)
    assert (found["file"], found["line"], found["column"], found["end"]) == ("train.py", 6, 25, [6, 44])
    assert found["severity"] == "hard"
    assert all(found[name] for name in ("code", "message", "title", "why", "remedy"))


def test_sarif_is_what_its_schema_asks_for(train_py: Path) -> None:
    run = log(train_py)
    (result,) = run["results"]
    assert (result["ruleId"], result["level"]) == ("REV010", "error")
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == "REV010"
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "train.py"}
    assert {k: v for k, v in place["region"].items() if k != "snippet"} == {
        "startLine": 6, "startColumn": 25, "endLine": 6, "endColumn": 44,
    }  # fmt: skip
    assert {rule["id"] for rule in run["tool"]["driver"]["rules"]} == {"REV001", *(rule.code for rule in ALL_RULES)}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"version": "2.1.0", "runs": [{"tool": {}}]}, SCHEMA, cls=jsonschema.Draft7Validator)


def test_sarif_of_every_case_fits_the_schema() -> None:
    cases = sorted((Path(__file__).parent / "rules").glob("*/hit*.py"))
    assert len({result["ruleId"] for result in log(*cases)["results"]}) > 40


def test_a_result_keeps_its_fingerprint_when_lines_are_added_above_it(train_py: Path) -> None:
    before = log(train_py)["results"][0]
    train_py.write_text(PROGRAM.replace("import os\n", "import os\n\n# more\n"), "utf-8")
    (after,) = log(train_py)["results"]
    assert after["partialFingerprints"] == before["partialFingerprints"]
    assert after["locations"] != before["locations"]
    train_py.write_text(PROGRAM + '    os.environ["DEPTH"]\n' * 2, "utf-8")
    prints = [result["partialFingerprints"]["primaryLocationLineHash"] for result in log(train_py)["results"]]
    assert len(set(prints)) == len(prints) >= 3


def test_a_built_file_is_found_at_its_place_in_the_recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    build(tmp_path / "a b")
    (result,) = log("a b")["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"] == {"uri": "recipe/model.py"}
    assert result["locations"][0]["physicalLocation"]["region"] == {"startLine": 15}
    related = result["relatedLocations"][0]["physicalLocation"]
    assert related["artifactLocation"] == {"uri": "a%20b/train.py"}
    assert related["region"]["startLine"] == 6
    assert "::error file=recipe/model.py,line=15,title=" in scorer("check", "a b", "--format", "github").stdout
    assert "a b/train.py:6:12: REV010" in scorer("check", "a b").stdout
    assert "(from recipe/model.py:15)" in scorer("check", "a b").stdout


def test_github_annotations_escape_what_github_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = Path("50%, or: less.py")
    path.write_text(PROGRAM.replace("DEPTH", "A%0A::error::\\n"), "utf-8")
    (line,) = scorer("check", path, "--format", "github").stdout.splitlines()
    properties, _, text = line.removeprefix("::error ").partition("::")
    assert properties.startswith("file=50%25%2C or%3A less.py,line=6,col=25,endLine=6,endColumn=")
    assert "A%250A::error::" in text
    assert re.search(r"%0A(?=Make it a knob)", text)


def test_advice_is_a_warning(train_py: Path) -> None:
    train_py.write_text(PROGRAM.replace('os.environ["DEPTH"]', "os._exit(0)"), "utf-8")
    assert scorer("check", train_py, "--format", "github").stdout.startswith("::warning file=train.py,line=6,")
    assert log(train_py)["results"][0]["level"] == "warning"


def test_findings_come_in_the_order_of_the_text(train_py: Path) -> None:
    train_py.write_text(PROGRAM + "import pickle\nos.system('x'); pickle.loads(b''); os.getenv('Y')\n", "utf-8")
    found = json.loads(scorer("check", train_py, "--format", "json").stdout)
    places = [(f["line"], f["column"] or 0, f["code"]) for f in found]
    assert places == sorted(places)
    assert len({line for line, _, _ in places}) < len(places)
    assert scorer("check", train_py).stdout == scorer("check", train_py).stdout


def test_several_files_at_once(train_py: Path) -> None:
    other = Path("other.py")
    other.write_text(PROGRAM, "utf-8")
    shown = scorer("check", train_py, other)
    assert "train.py:6:25: REV010" in shown.stdout
    assert "other.py:6:25: REV010" in shown.stdout
    assert "2 findings" in shown.stdout
    refused = scorer("check", train_py, other, "--file", "kernel.py")
    assert (refused.exit_code, "--file" in refused.stderr) == (2, True)


def test_a_kernel_file_is_found_under_its_own_name(train_py: Path) -> None:
    Path("kernels").mkdir()
    kernel = Path("kernels/fast.py")
    kernel.write_text("import os\n\nWIDTH = os.environ['WIDTH']\n", "utf-8")
    shown = scorer("check", train_py, "--file", kernel).stdout
    assert "kernels/fast.py:3:9: REV010" in shown
    assert "    3 | WIDTH = os.environ['WIDTH']" in shown
    uris = {
        r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        for r in log(train_py, "--file", kernel)["results"]
    }
    assert uris == {"train.py", "kernels/fast.py"}


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("nothere.py", "nothere.py: no such file; name the submission's train.py"),
        ("empty", "empty: holds no train.py"),
        ("latin.py", "latin.py: byte 5 is not UTF-8; save the file as UTF-8"),
    ],
)
def test_what_is_no_submission_is_told_in_one_line(train_py: Path, path: str, said: str) -> None:
    Path("empty").mkdir()
    Path("latin.py").write_bytes(b"x = '\xff'\n")
    refused = scorer("check", path)
    assert refused.exit_code == 2
    assert refused.stderr.startswith(f"scorer: {said}")
    assert len(refused.stderr.splitlines()) == 1


def test_a_directory_that_holds_the_file_is_enough(train_py: Path) -> None:
    Path("sub").mkdir()
    Path("sub/train.py").write_text(PROGRAM, "utf-8")
    assert "sub/train.py:6:25: REV010" in scorer("check", "sub").stdout


def test_a_file_that_does_not_parse_is_a_finding(train_py: Path) -> None:
    train_py.write_text("def f(:\n", "utf-8")
    assert "train.py:1: REV001" in scorer("check", train_py).stdout
    (result,) = log(train_py)["results"]
    assert result["ruleId"] == "REV001"


def test_rules_are_listed_and_explained(tmp_path: Path) -> None:
    listed = scorer("rules").stdout.splitlines()
    assert len(listed) == len(ALL_RULES) >= 40
    assert "REV010 hard   reads the environment" in listed
    explained = scorer("rules", "rev010").stdout
    assert all(
        text in " ".join(explained.split())
        for text in ("REV010 reads the environment (hard)", 'os.environ.get("DEPTH"')
    )
    assert scorer("rules", "REV999").exit_code == 2
    changed = tmp_path / "changed.yaml"
    text = (CONTESTS / "embedded.yaml").read_text("utf-8")
    changed.write_text(text.replace("rules: {}", "rules: {REV010: advice, REV014: 'off'}"), "utf-8")
    listed = scorer("rules", "--contest", changed).stdout.splitlines()
    assert "REV010 advice reads the environment" in listed
    assert any(line.startswith("REV014 off ") for line in listed)


def test_a_rule_that_the_contest_switches_off_is_not_in_the_log(train_py: Path, tmp_path: Path) -> None:
    changed = tmp_path / "changed.yaml"
    text = (CONTESTS / "embedded.yaml").read_text("utf-8")
    changed.write_text(text.replace("rules: {}", "rules: {REV010: 'off'}"), "utf-8")
    run = log(train_py, "--contest", changed)
    assert run["results"] == []
    assert "REV010" not in {rule["id"] for rule in run["tool"]["driver"]["rules"]}


def test_checking_250_kilobytes_takes_about_a_second(tmp_path: Path) -> None:
    """Processor time of the whole command; a quiet machine needs 0.8 s of it, and wall time is the same there."""
    path = tmp_path / "train.py"
    path.write_text(hand_kept(seed=1, experiments=63, parse="function").text, "utf-8")
    assert 240_000 < path.stat().st_size < 262_144
    code = (
        "import sys, time\n"
        "from scorer.cli import main\n"
        f"sys.argv = ['scorer', 'check', {str(path)!r}]\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print(time.process_time(), 'torch' in sys.modules, file=sys.stderr)\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    seconds, torch = ran.stderr.split()
    assert "REV010" in ran.stdout
    assert torch == "False"
    assert float(seconds) < 2.5  # slower and busier machines run this too


def test_a_listing_that_nobody_reads_any_more_ends_in_silence() -> None:
    command = "import sys; from scorer.cli import main; sys.argv = ['scorer', 'schema', 'receipt']; main()"
    process = subprocess.Popen([sys.executable, "-c", command], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait() == 141
