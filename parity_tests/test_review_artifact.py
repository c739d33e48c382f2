"""The review of a whole artifact: manifest, map, size, profile settings, speed."""

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from scorer.artifact import Artifact, ArtifactError
from scorer.contest import load
from scorer.findings import Place, Severity
from scorer.review import ALL_RULES, review

LAUNCH = "NEURON_LOGICAL_NC_CONFIG=2 torchrun --standalone --nproc_per_node=2 train.py"
SOURCE = '''"""Launch: torchrun. Budget: 60 seconds. load_for_eval returns the model."""
import os


def load_for_eval(checkpoint_path, device):
    return os.environ["DEPTH"]
'''
PROFILE = load("embedded")


def write(directory: Path, source: str = SOURCE, **changes: Any) -> Path:
    """An artifact as the builder lays it out; `changes` replace files by name, or keys of the manifest."""
    directory.mkdir(exist_ok=True)
    (directory / "train.py").write_text(source, "utf-8")
    artifact = Artifact.from_file(directory / "train.py", LAUNCH)
    manifest = {"manifest_version": 1, "artifact_sha256": artifact.sha256, "launch_command": LAUNCH}
    lines = [None, *([0, line] for line in range(11, 10 + source.count("\n")))]
    files = {
        "manifest.json": json.dumps({**manifest, **changes.pop("manifest", {})}),
        "launch-command.txt": LAUNCH + "\n",
        "train.py.map": json.dumps({"version": 1, "sources": ["recipe/model.py"], "lines": lines}),
        **changes,
    }
    for name, text in files.items():
        (directory / name).write_text(text, "utf-8")
    return directory


def codes(artifact: Artifact) -> set[str]:
    return {finding.code for finding in review(artifact, PROFILE) if finding.severity == Severity.HARD}


def test_a_finding_names_the_place_in_the_recipe(tmp_path: Path) -> None:
    (finding,) = review(Artifact.load(write(tmp_path)), PROFILE)
    assert (finding.code, finding.artifact_line) == ("REV010", 6)
    assert finding.place == Place(file="recipe/model.py", line=15)
    assert finding.evidence == {"text": 'return os.environ["DEPTH"]'}


def test_without_a_map_lines_stand_for_themselves(tmp_path: Path) -> None:
    artifact = Artifact.from_file(write(tmp_path) / "train.py", LAUNCH)
    (finding,) = review(artifact, PROFILE)
    assert finding.place == Place(file="train.py", line=6)


def test_sites_of_both_lanes_become_recipe_places(tmp_path: Path) -> None:
    artifact = Artifact.load(write(tmp_path))
    assert artifact.place_of(Place(file="train.py", line=6), "train.py") == Place(file="recipe/model.py", line=15)
    assert artifact.place_of(Place(file="recipe/optim.py", line=3), "train.py") == Place(file="recipe/optim.py", line=3)
    assert artifact.place_of(Place(file="train.py", line=1), "train.py") is None  # the builder's own line
    assert artifact.place_of(None, "train.py") is None


def test_a_file_changed_after_the_build_is_a_finding(tmp_path: Path) -> None:
    clean = SOURCE.replace('os.environ["DEPTH"]', "os.getpid()")
    directory = write(tmp_path, clean)
    assert codes(Artifact.load(directory)) == set()
    (directory / "train.py").write_text(clean + "# more\n", "utf-8")
    changed = Artifact.load(directory)
    assert codes(changed) == {"REV007"}
    assert changed.place(5) == Place(file="train.py", line=5)  # the map no longer fits


def test_a_launch_string_changed_after_the_build_is_a_finding(tmp_path: Path) -> None:
    directory = write(tmp_path, **{"launch-command.txt": LAUNCH.replace("node=2", "node=1")})
    assert "REV008" in codes(Artifact.load(directory))
    assert "REV008" not in codes(Artifact.load(write(tmp_path)))


def test_the_size_limit_is_exclusive(tmp_path: Path) -> None:
    limit = PROFILE.files.size_limit_bytes
    path = tmp_path / "train.py"
    for size, expected in ((limit - 1, False), (limit, True)):
        path.write_text("#" * (size - 1) + "\n", "utf-8")
        assert ("REV002" in codes(Artifact.from_file(path, LAUNCH))) == expected


def test_bytes_count_not_characters(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text("#" + "é" * (PROFILE.files.size_limit_bytes // 2), "utf-8")
    assert "REV002" in codes(Artifact.from_file(path, LAUNCH))


def test_the_profile_sets_severities(tmp_path: Path) -> None:
    artifact = Artifact.load(write(tmp_path))
    advice = PROFILE.model_copy(update={"rules": {"REV010": "advice"}})
    off = PROFILE.model_copy(update={"rules": {"REV010": "off"}})
    assert [f.severity for f in review(artifact, advice)] == [Severity.ADVICE]
    assert review(artifact, off) == []


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"manifest.json": "{"}, r"manifest\.json:1: not JSON"),
        ({"manifest.json": "[]"}, "manifest_version is list, expected 1"),
        ({"manifest": {"manifest_version": 2}}, "manifest_version is 2, expected 1"),
        ({"launch-command.txt": "\n"}, "launch-command.txt: empty"),
        ({"train.py.map": '{"version": 1, "sources": [], "lines": []}'}, "0 lines mapped, train.py has 6"),
        ({"train.py.map": '{"version": 1, "sources": [], "lines": [[0, 1]]}'}, r"entry of line 1 is \[0, 1\]"),
        ({"train.py.map": '{"version": 1}'}, "expected lists named sources and lines"),
    ],
)
def test_a_broken_artifact_is_refused_by_file(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ArtifactError, match=said):
        Artifact.load(write(tmp_path, **changes))


@pytest.mark.parametrize("name", ["train.py", "launch-command.txt", "manifest.json", "train.py.map"])
def test_a_missing_file_is_named(tmp_path: Path, name: str) -> None:
    directory = write(tmp_path)
    (directory / name).unlink()
    with pytest.raises(ArtifactError, match=f"{name}: cannot be read"):
        Artifact.load(directory)


def test_a_file_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    directory = write(tmp_path)
    (directory / "train.py").write_bytes(b"x = '\xff'\n")
    with pytest.raises(ArtifactError, match="byte 5 is not UTF-8"):
        Artifact.load(directory)


@pytest.mark.parametrize("kind", ["pipe", "device", "large"])
def test_what_might_never_end_is_not_read(kind: str, tmp_path: Path) -> None:
    path = Path("/dev/zero") if kind == "device" else tmp_path / "train.py"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "large":
        path.touch()
        os.truncate(path, (64 << 20) + 1)
    with pytest.raises(ArtifactError, match="67,108,865 bytes" if kind == "large" else "no regular file"):
        Artifact.from_file(path, "")


def test_rules_are_documented() -> None:
    assert len({rule.code for rule in ALL_RULES}) == len(ALL_RULES)
    for rule in ALL_RULES:
        assert rule.code.startswith("REV")
        assert all(text.strip() for text in (rule.title, rule.why, rule.remedy, rule.example, rule.message)), rule.code


def test_a_file_of_250_kilobytes_is_reviewed_in_a_second_of_processor_time(tmp_path: Path) -> None:
    body = SOURCE[SOURCE.index("def ") :].replace('os.environ["DEPTH"]', "[x * 2 for x in os.path.split(device) if x]")
    text = "import os\n\n" + "\n".join(body.replace("load_for_eval", f"load_{n}") for n in range(2600))
    assert 240_000 < len(text) < 262_144
    path = tmp_path / "train.py"
    path.write_text(text, "utf-8")
    artifact = Artifact.from_file(path, LAUNCH)
    started = time.process_time()
    review(artifact, PROFILE)
    assert time.process_time() - started < 2.0  # a second on a quiet machine; slower ones run this too
