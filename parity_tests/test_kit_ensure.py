"""The room's kit: chosen, checked against the profile, built once."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from scorer.contest import Profile, load
from scorer.files import sha256_file
from scorer.room import kit
from scorer.room.kit import STAND_IN, KitError, KitPaths, cache_root, ensure_kit

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
def ensure_tokenizer(build_if_missing=False): ...
def get_token_bytes(device): ...
def make_dataloader(tokenizer, batch_size, seq_len, split, device, **options): ...
def _row_groups_for_split(split, first, step, /): ...
def _document_batches(split, start, step, size=128): ...
def evaluate_bpb(model, tokenizer, batch_size, seq_len, device, split="public_val", *, max_tokens): ...
def causality_check(model, tokenizer, batch_size, seq_len, device, tolerance=0.1): ...
class Words:
    def get_bos_token_id(self): ...
    def encode(self, docs, prepend=None): ...
class Tokenizer(Words):
    get_vocab_size = property(lambda self: 8192)
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
    text = ORGANISER.replace("def evaluate_bpb(", "def other(").replace("class Tokenizer(Words)", "class Other(Words)")
    (organiser / "prepare.py").write_text(text, "utf-8")
    with pytest.raises(KitError, match="does not define Tokenizer, evaluate_bpb"):
        ensure_kit(TRAINIUM, organiser)


def test_a_hash_on_the_command_line_pins_too(organiser: Path) -> None:
    digest = sha256_file(organiser / "prepare.py")
    with pytest.raises(KitError, match="--kit-sha256 expects 1111"):
        ensure_kit(pinned(TRAINIUM, digest), organiser, "1" * 64)
    with pytest.raises(KitError, match="the 64 hexadecimal digits"):
        ensure_kit(TRAINIUM, organiser, "abc")
    assert not (organiser / "runs").exists()
    assert ensure_kit(TRAINIUM, organiser, digest.upper()).record.prepare_sha256 == digest


def test_files_beside_the_kit_are_pinned_and_recorded(organiser: Path) -> None:
    (organiser / "tokenizer.pkl").write_text("merges")
    digest = sha256_file(organiser / "tokenizer.pkl")
    kit = TRAINIUM.kit.model_copy(update={"files": {"tokenizer.pkl": digest}})
    profile = TRAINIUM.model_copy(update={"kit": kit})
    assert ensure_kit(profile, organiser).record.files["tokenizer.pkl"] == digest
    (organiser / "tokenizer.pkl").write_text("other merges")
    with pytest.raises(KitError, match=r"tokenizer\.pkl: SHA-256 is .* expects .* copy the organiser's whole"):
        ensure_kit(profile, organiser)
    ensure_kit(TRAINIUM, organiser)  # not pinned: but data that the old file made are not taken
    assert (organiser / "runs").read_text() == "xx"
    (organiser / "tokenizer.pkl").unlink()
    with pytest.raises(KitError, match=r"tokenizer\.pkl: SHA-256 is no file"):
        ensure_kit(profile, organiser)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda kit: (kit.directory / "prepare.py").write_text("x"), "prepare.py: was changed"),
        (lambda kit: (kit.directory / "cache").write_text("x"), "cache: was added"),
        (lambda kit: (kit.directory / "runs").unlink(), "runs: was removed"),
        (lambda kit: (kit.cache_dir / "shard").write_text("other"), "shard: was changed"),
    ],
)
def test_a_kit_that_changes_while_it_is_used_is_told(
    organiser: Path, change: Callable[[KitPaths], object], words: str
) -> None:
    kit = ensure_kit(TRAINIUM, organiser)
    kit.check_unchanged()
    change(kit)
    with pytest.raises(KitError, match=words):
        kit.check_unchanged()


def test_a_kit_that_edits_itself_in_its_setup_is_refused(organiser: Path) -> None:
    text = ORGANISER + '    open(__file__, "a").write("# edited")\n'
    (organiser / "prepare.py").write_text(text, "utf-8")
    with pytest.raises(KitError, match="was changed while the kit was set up"):
        ensure_kit(TRAINIUM, organiser)


def test_the_setup_leaves_no_compiled_files_beside_the_kit(organiser: Path) -> None:
    (organiser / "helper.py").write_text("from math import floor\n", "utf-8")
    (organiser / "prepare.py").write_text(ORGANISER + "\nimport helper\n", "utf-8")
    ensure_kit(TRAINIUM, organiser)
    assert sorted(path.name for path in organiser.iterdir()) == ["helper.py", "prepare.py", "runs"]


def test_what_a_model_may_see_is_chosen_by_the_profile(organiser: Path) -> None:
    kit = ensure_kit(TRAINIUM, organiser)
    kit.record.data_sha256 |= {"tokenizer/merges.txt": "", "token_bytes.npy": "", "public_val/shard.txt": ""}
    assert kit.model_data(TRAINIUM.kit.model_files) == [Path("tokenizer/merges.txt"), Path("token_bytes.npy")]


def test_constants_that_contradict_the_profile_are_refused_by_line(organiser: Path) -> None:
    text = ORGANISER.replace("= 1800", "= 60 * 10").replace("= 1200", "= 1_000")
    (organiser / "prepare.py").write_text(text, "utf-8")
    with pytest.raises(KitError, match=r"prepare\.py:4: TRAIN_TIME_BUDGET_SECONDS is 600, expected 1800") as caught:
        ensure_kit(TRAINIUM, organiser)
    assert "prepare.py:5: EVAL_TIMEOUT_SECONDS is 1000, expected 1200" in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            "seq_len, device, tolerance=0.1",
            "device, seq_len",
            "causality_check takes .model, tokenizer, batch_size, dev",
        ),
        ("device, tolerance=0.1", "device, tolerance", "takes .*tolerance., the contest calls it with .*device."),
        ("device, tolerance=0.1", "device, *, tolerance", r"takes .*\*, tolerance"),
        ("def get_token_bytes(device)", "def get_token_bytes()", r"get_token_bytes takes \(\)"),
        ("def encode(self, docs, prepend=None)", "def encode(self)", r"Tokenizer\.encode takes \(\)"),
        ("    def encode(self, docs, prepend=None): ...", "", r"class Tokenizer has no method encode"),
        ("def get_dist_info(): ...", "get_dist_info = 3", "get_dist_info is 3, expected a function"),
    ],
)
def test_functions_that_cannot_be_called_as_the_contest_does_are_refused(
    organiser: Path, old: str, new: str, words: str
) -> None:
    assert old in ORGANISER
    (organiser / "prepare.py").write_text(ORGANISER.replace(old, new), "utf-8")
    with pytest.raises(KitError, match=words):
        ensure_kit(TRAINIUM, organiser)
    assert not (organiser / "runs").exists()


def test_names_from_modules_beside_the_kit_are_followed(organiser: Path) -> None:
    text = ORGANISER.replace("def get_dist_info(): ...", "from helper import *")
    text = text.replace("def causality_check(", "from helper import check as causality_check\ndef not_it(")
    (organiser / "prepare.py").write_text(text, "utf-8")
    helper = "def get_dist_info(): ...\ndef check(model, tokenizer, batch_size, seq_len, device): ...\n"
    (organiser / "helper.py").write_text(helper, "utf-8")
    ensure_kit(TRAINIUM, organiser)
    (organiser / "helper.py").write_text(helper.replace("def check(model, ", "def check("), "utf-8")
    with pytest.raises(KitError, match=r"helper\.py:2: causality_check takes"):
        ensure_kit(TRAINIUM, organiser)
    (organiser / "helper.py").write_text("x = 1\n", "utf-8")
    with pytest.raises(KitError, match="does not define causality_check, get_dist_info, which"):
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
    with pytest.raises(KitError, match=r"nowhere: no such directory; point --kit"):
        ensure_kit(TRAINIUM, tmp_path / "nowhere", "0" * 64)


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


def test_the_stand_in_states_the_constants_of_the_profile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as shared:
        shared.delenv("SUBMISSION_PARITY_CACHE")
        data = ensure_kit(EMBEDDED).cache_dir
    monkeypatch.setattr(kit, "_build_once", lambda _file, _words, _variables, cache: shutil.copytree(data, cache))
    constants = {**EMBEDDED.kit.constants, "TRAIN_TIME_BUDGET_SECONDS": 7}
    longer = EMBEDDED.model_copy(update={"kit": EMBEDDED.kit.model_copy(update={"constants": constants})})
    stated = ensure_kit(longer)
    text, ours = ((place / "prepare.py").read_text("utf-8") for place in (stated.directory, STAND_IN))
    assert stated.record.stand_in
    assert stated.directory.is_relative_to(tmp_path / "cache")
    assert text != ours
    assert text == ours.replace("TRAIN_TIME_BUDGET_SECONDS = 60", "TRAIN_TIME_BUDGET_SECONDS = 7")
    with pytest.raises(KitError, match="PACKING is no number of its own"):
        kit._stating(longer.model_copy(update={"kit": longer.kit.model_copy(update={"constants": {"PACKING": 1}})}))


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
