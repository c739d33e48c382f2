"""The room's kit: chosen, checked against the profile, built once."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from scorer.contest import Profile, load
from scorer.files import sha256_file
from scorer.room.kit import STAND_IN, KitError, cache_root, ensure_kit

EMBEDDED = load("embedded")
TRAINIUM = load("trainium-frontier-phase1")

# An organiser's kit in small: setup writes one file and counts how often it ran.
ORGANISER = """
import os, sys, pathlib
TOKENIZER_VOCAB_SIZE = 8192
TRAIN_TIME_BUDGET_SECONDS: int = 1800
EVAL_TIMEOUT_SECONDS = 1200
if True:
    from math import floor as print0
def get_dist_info(): ...
def ensure_tokenizer(): ...
def get_token_bytes(): ...
def make_dataloader(): ...
def _row_groups_for_split(): ...
def _document_batches(): ...
def evaluate_bpb(): ...
def causality_check(): ...
class Tokenizer: ...
if __name__ == "__main__":
    assert sys.argv[1:] == ["setup"]
    cache = pathlib.Path(os.environ["NEURON_COMPETITION_R1_CACHE_DIR"])
    cache.mkdir(parents=True)
    with open(pathlib.Path(__file__).with_name("runs"), "a") as runs:
        runs.write("x")
    (cache / "shard").write_text("data")
"""


@pytest.fixture(autouse=True)
def private_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUBMISSION_PARITY_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("NEURON_COMPETITION_R1_CACHE_DIR", raising=False)


@pytest.fixture
def organiser(tmp_path: Path) -> Path:
    directory = tmp_path / "kit"
    directory.mkdir()
    (directory / "prepare.py").write_text(ORGANISER, "utf-8")
    return directory


def pinned(profile: Profile, digest: str | None) -> Profile:
    return profile.model_copy(update={"kit": profile.kit.model_copy(update={"sha256": digest})})


def test_an_organisers_kit_is_checked_built_once_and_recorded(organiser: Path, tmp_path: Path) -> None:
    digest = sha256_file(organiser / "prepare.py")
    first = ensure_kit(pinned(TRAINIUM, digest), organiser)
    again = ensure_kit(pinned(TRAINIUM, digest), organiser)
    assert first == again
    assert (organiser / "runs").read_text() == "x"
    assert first.directory == organiser
    assert not first.record.stand_in
    assert first.record.prepare_sha256 == digest
    assert first.record.data_sha256 == {"shard": sha256_file(first.cache_dir / "shard")}
    assert tmp_path / "cache" in first.cache_dir.parents


def test_another_file_than_the_pinned_one_is_refused(organiser: Path) -> None:
    with pytest.raises(KitError, match="expects 0000"):
        ensure_kit(pinned(TRAINIUM, "0" * 64), organiser)
    assert not (organiser / "runs").exists()


def test_missing_symbols_are_all_named(organiser: Path) -> None:
    text = ORGANISER.replace("def evaluate_bpb(): ...", "").replace("class Tokenizer: ...", "")
    (organiser / "prepare.py").write_text(text, "utf-8")
    with pytest.raises(KitError, match="does not define Tokenizer, evaluate_bpb"):
        ensure_kit(TRAINIUM, organiser)


def test_constants_that_contradict_the_profile_are_refused_by_line(organiser: Path) -> None:
    (organiser / "prepare.py").write_text(ORGANISER.replace("= 1800", "= 600"), "utf-8")
    with pytest.raises(KitError, match=r"prepare\.py:4: TRAIN_TIME_BUDGET_SECONDS is 600, .* says 1800"):
        ensure_kit(TRAINIUM, organiser)


def test_a_kit_that_is_not_python_is_refused(organiser: Path) -> None:
    (organiser / "prepare.py").write_text("x = (\n", "utf-8")
    with pytest.raises(KitError, match=r"prepare\.py:1: not Python"):
        ensure_kit(TRAINIUM, organiser)


def test_an_absent_kit_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(KitError, match="give --kit DIR"):
        ensure_kit(TRAINIUM)
    with pytest.raises(KitError, match=r"prepare\.py: no such file; point --kit"):
        ensure_kit(TRAINIUM, tmp_path)


def test_a_setup_that_fails_is_reported_and_tried_again(organiser: Path) -> None:
    broken = ORGANISER.replace(
        '(cache / "shard").write_text("data")', '(cache / "part").write_text("d"); sys.exit("no room")'
    )
    (organiser / "prepare.py").write_text(broken, "utf-8")
    for _ in range(2):  # the half-built data of the first try are not taken for whole ones
        with pytest.raises(KitError, match="exit code 1: no room"):
            ensure_kit(TRAINIUM, organiser)
    assert (organiser / "runs").read_text() == "xx"


def test_a_setup_that_writes_nothing_is_refused(organiser: Path) -> None:
    (organiser / "prepare.py").write_text(ORGANISER.replace("cache.mkdir(parents=True)", "sys.exit(0)"), "utf-8")
    with pytest.raises(KitError, match="holds no file"):
        ensure_kit(TRAINIUM, organiser)


def test_data_that_are_there_already_are_used(organiser: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine").mkdir()
    monkeypatch.setenv("NEURON_COMPETITION_R1_CACHE_DIR", str(tmp_path / "mine"))
    with pytest.raises(KitError, match="yet it holds no file"):
        ensure_kit(TRAINIUM, organiser)
    (tmp_path / "mine/shard").write_text("mine")
    assert ensure_kit(TRAINIUM, organiser).cache_dir == tmp_path / "mine"
    assert not (organiser / "runs").exists()


def test_a_cache_that_cannot_be_written_is_named(
    organiser: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SUBMISSION_PARITY_CACHE", str(tmp_path / "file"))
    with pytest.raises(KitError, match="name a directory in SUBMISSION_PARITY_CACHE"):
        ensure_kit(TRAINIUM, organiser)


def test_many_at_once_build_once(organiser: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from scorer.contest import load; from scorer.room.kit import ensure_kit;"
        "ensure_kit(load('trainium-frontier-phase1'), Path(sys.argv[1]))"
    )
    root = Path(__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    words = [sys.executable, "-c", code, str(organiser)]
    started = [subprocess.Popen(words, env=environment) for _ in range(3)]
    assert [process.wait() for process in started] == [0, 0, 0]
    assert (organiser / "runs").read_text() == "x"


def test_the_stand_in_is_used_where_the_contest_says_so_and_changed_data_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as shared:
        shared.delenv("SUBMISSION_PARITY_CACHE")
        built = ensure_kit(EMBEDDED)
    assert built.directory == STAND_IN
    assert built.record.stand_in
    assert built.record.prepare_sha256 == sha256_file(STAND_IN / "prepare.py")
    assert {"kit.json", "tokenizer.json", "token_bytes.npy"} <= set(built.record.data_sha256)

    shutil.copytree(built.cache_dir.parent, tmp_path / "cache/kits")
    copy = ensure_kit(EMBEDDED)
    assert copy.record == built.record
    shard = copy.cache_dir / "public_val/shard_00000.parquet"
    shard.write_bytes(shard.read_bytes()[:-1])
    with pytest.raises(KitError, match=r"shard_00000\.parquet: SHA-256 is .* kit\.json says"):
        ensure_kit(EMBEDDED)
    shard.unlink()
    with pytest.raises(KitError, match=r"shard_00000\.parquet: SHA-256 is no file"):
        ensure_kit(EMBEDDED)
    (copy.cache_dir / "kit.json").write_text("{", "utf-8")
    with pytest.raises(KitError, match=r"kit\.json: cannot be read"):
        ensure_kit(EMBEDDED)


def test_the_cache_lies_where_the_platform_keeps_caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cache_root() == tmp_path / "cache"
    monkeypatch.delenv("SUBMISSION_PARITY_CACHE")
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_root() == tmp_path / "xdg/submission-parity"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_root() == tmp_path / ".cache/submission-parity"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert cache_root() == tmp_path / "Library/Caches/submission-parity"
