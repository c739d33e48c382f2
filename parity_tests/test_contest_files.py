"""Submissions of several files: which are taken, what each must hold, and that a run gets all of them."""

from pathlib import Path

import pytest

from parity_tests.room_programs import LaneSpec, plan, program, small_kit
from parity_tests.room_programs import profile as embedded
from scorer.artifact import Artifact, ArtifactError
from scorer.contest import Profile, load
from scorer.findings import Place, Severity
from scorer.review import review
from scorer.room.lane import run_lane
from scorer.room.receipts import Clock, Lane, Outcome

LAUNCH = plan().text
SCRIPT = '''"""Launch: torchrun. Budget: 60 seconds. load_for_eval returns the model."""


def load_for_eval(checkpoint_path, device):
    return None
'''
PHASE2 = load("trainium-frontier-phase2")


def write(directory: Path, **files: str) -> Path:
    """A directory of Python files, `train` and what else is named."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in {"train": SCRIPT, **files}.items():
        (directory / f"{name}.py").write_text(text, "utf-8")
    return directory


def submission(directory: Path, profile: Profile, *names: str) -> Artifact:
    bare = Artifact.from_file(directory / "train.py", LAUNCH)
    return bare.with_others(profile, [directory / name for name in names])


def hard(artifact: Artifact, profile: Profile) -> list[tuple[str, str]]:
    """(code, file) of every hard finding."""
    found = review(artifact, profile)
    return [(f.code, f.place.file if f.place else "") for f in found if f.severity is Severity.HARD]


def test_a_required_file_is_taken_from_beside_the_script_and_missed_where_it_is_not_there(tmp_path: Path) -> None:
    directory = write(tmp_path)
    missing = submission(directory, PHASE2)
    assert ("REV009", "train.py") in hard(missing, PHASE2)
    write(tmp_path, inference=SCRIPT)
    whole = submission(directory, PHASE2)
    assert [other.member for other in whole.others] == ["inference.py"]
    assert "REV009" not in {code for code, _ in hard(whole, PHASE2)}
    assert submission(directory, embedded()).others == ()  # the embedded contest does not ask for it


def test_each_file_has_hooks_of_its_own(tmp_path: Path) -> None:
    other = SCRIPT.replace("load_for_eval", "load")
    artifact = submission(write(tmp_path, inference=other), PHASE2)
    assert [found for found in hard(artifact, PHASE2) if found[0] == "REV003"] == [("REV003", "inference.py")]
    artifact = submission(write(tmp_path, train=other, inference=SCRIPT), PHASE2)
    assert [found for found in hard(artifact, PHASE2) if found[0] == "REV003"] == [("REV003", "train.py")]


def test_each_file_has_the_size_limit(tmp_path: Path) -> None:
    limit = embedded().files.size_limit_bytes
    for size, expected in ((limit - 1, []), (limit, [("REV002", "big.py")])):
        artifact = submission(write(tmp_path, big="#" * (size - 1) + "\n"), embedded(), "big.py")
        assert [found for found in hard(artifact, embedded()) if found[0] == "REV002"] == expected


def test_rules_hold_for_every_file_and_name_it(tmp_path: Path) -> None:
    directory = write(tmp_path, train=SCRIPT.replace("\n\n\n", "\n\nimport kernel\n\n", 1), kernel="import elsewhere\n")
    (found,) = (f for f in review(submission(directory, embedded(), "kernel.py"), embedded()) if f.code == "REV004")
    assert found.place == Place(file="kernel.py", line=1)
    assert found.artifact_line is None  # that is a line of train.py
    alone = [f.message for f in review(submission(directory, embedded()), embedded()) if f.code == "REV004"]
    assert len(alone) == 1  # without the file its import finds nothing
    assert "kernel" in alone[0]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "notes.txt",
            r"contest embedded takes no file notes\.txt, it takes train\.py, \*\.py; leave it out",
        ),
        ("prepare.py", r"prepare\.py: it would be imported in the place of prepare; give it another name"),
        ("torch.py", "in the place of torch"),
        ("json.py", "in the place of json"),
    ],
)
def test_what_the_contest_does_not_take_is_refused_by_name(tmp_path: Path, name: str, said: str) -> None:
    write(tmp_path)
    (tmp_path / name).write_text("", "utf-8")
    with pytest.raises(ArtifactError, match=said):
        submission(tmp_path, embedded(), name)


def test_a_directory_of_the_builder_is_taken_whole(tmp_path: Path) -> None:
    from parity_tests.test_review_artifact import write as build

    directory = write(build(tmp_path / "built"), train=(tmp_path / "built/train.py").read_text("utf-8"), kernel="")
    assert [other.member for other in Artifact.load(directory).with_others(embedded()).others] == ["kernel.py"]
    (directory / "weights.bin").write_bytes(b"")
    with pytest.raises(ArtifactError, match=r"takes no file weights\.bin"):
        Artifact.load(directory).with_others(embedded())


@pytest.mark.long
def test_a_run_gets_every_file_and_its_receipt_names_them(tmp_path: Path) -> None:
    source = program(before="from kernel import scale\nprint('scale', scale)")
    directory = write(tmp_path / "given", train=source, kernel="scale = 3\n")
    artifact = submission(directory, embedded(), "kernel.py")
    spec = LaneSpec(Lane.ARTIFACT, plan(), artifact, Clock(kind="virtual", seconds_per_update=0.5))
    seen = run_lane(spec, embedded(), small_kit(tmp_path / "kit"), tmp_path / "keep")
    assert (seen.outcome, seen.observed_findings) == (Outcome.COMPLETE, [])
    assert "scale 3" in seen.log_tail
    assert seen.subject.others == {"kernel.py": artifact.others[0].sha256}
