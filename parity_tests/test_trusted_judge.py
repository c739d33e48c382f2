"""The whole scoring: numbers equal to the kit's own, and every way in which a submission can fail to be scored."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch

from parity_tests import receipts_factory
from parity_tests.trusted_samples import (
    TRAIN_PY,
    found_in,
    imported,
    judged,
    line_of,
    small_kit,
    small_profile,
    submission,
    trained,
    written,
)
from scorer.findings import Finding
from scorer.room.checkpoint import inspect
from scorer.room.kit import KitPaths
from scorer.room.receipts import Event, Lane, Outcome, Receipt, Site
from scorer.trusted import settings as ways
from scorer.trusted.judge import score

FILES = small_profile().files


@pytest.fixture(scope="module")
def kit(tmp_path_factory: pytest.TempPathFactory) -> KitPaths:
    return small_kit(tmp_path_factory.mktemp("kit"))


@pytest.fixture(scope="module")
def clean(kit: KitPaths, tmp_path_factory: pytest.TempPathFactory) -> Receipt:
    return judged(tmp_path_factory.mktemp("clean"), kit, submission())


def by_hand(kit: KitPaths, split: str, tokens: int, seq_len: int) -> tuple[float, int]:
    """(nats, bytes) of the clean model, row by row, without any of the judge's code."""
    model = imported(TRAIN_PY).Model().eval()
    model.load_state_dict(trained()["model_state"])
    stream: list[int] = []
    for document in (kit.cache_dir / split / "shard_0.txt").read_text("utf-8").split():
        stream += [60, *(ord(letter) - 65 for letter in document)]
    stream = stream[: tokens + 1]
    nats, count = 0.0, 0
    for first in range(0, tokens, seq_len):
        row = stream[first : first + seq_len + 1]
        with torch.no_grad():
            logits = model(torch.tensor([row[:-1]]))[0].double()
        for position, target in enumerate(row[1:]):
            if target != 60:
                nats -= float(logits[position].log_softmax(0)[target])
                count += 1
    return nats, count


def test_a_clean_submission_is_scored_without_a_finding(clean: Receipt, kit: KitPaths) -> None:
    assert clean.observed_findings == []
    assert clean.outcome is Outcome.COMPLETE
    evaluations = {one.name: one for one in clean.evaluations}
    assert list(evaluations) == [
        "trusted, official settings",
        "trusted, public settings",
        "trusted, context changed",
        "trusted, shard changed",
        "kit, called, public settings",
        "kit, by its command",
    ]
    for name, one in evaluations.items():
        nats, count = by_hand(kit, one.split, one.num_tokens, one.seq_len)
        assert one.num_bytes == count, name
        assert math.isclose(float.fromhex(one.total_nats), nats, rel_tol=1e-6), name
    assert evaluations["trusted, public settings"].total_nats == evaluations["kit, by its command"].total_nats
    assert evaluations["trusted, public settings"].val_bpb == evaluations["kit, by its command"].val_bpb
    assert evaluations["kit, called, public settings"].val_bpb == evaluations["kit, by its command"].val_bpb
    assert [(check.name, check.passed) for check in clean.kit_checks] == [("causality_check", True)]


def test_the_receipt_says_what_was_scored_on_what(clean: Receipt, tmp_path: Path) -> None:
    artifact, checkpoint = written(tmp_path, submission())
    assert clean.lane is Lane.TRUSTED
    assert clean.subject.sha256 == artifact.sha256
    assert clean.checkpoint == inspect(checkpoint, "out/final.pt", FILES)
    assert clean.ranks[0].parameters[0].name == "embed.weight"
    assert clean.ranks[0].devices == ["cpu"]


# --- What cannot be scored ---


BROKEN: list[tuple[str, str, str, str]] = [
    ("does not parse", submission(import_="def f(:"), "PUR001", "def f(:"),
    ("fails at import", submission(import_="import no_such_module"), "PUR001", "import no_such_module"),
    ("has no hook", TRAIN_PY.replace("def load_for_eval(", "def load_for_test("), "PUR003", '"""A submission'),
    ("fails to load", submission(load="raise RuntimeError('no')"), "PUR004", "raise RuntimeError"),
    ("returns no module", submission(load="return model.state_dict()"), "PUR005", "def load_for_eval"),
    ("dies while loading", submission(import_="import os", load="os._exit(3)"), "PUR018", "def load_for_eval"),
]


@pytest.mark.long
@pytest.mark.parametrize(("title", "text", "code", "line"), BROKEN, ids=[case[0] for case in BROKEN])
def test_a_submission_that_cannot_be_scored_is_named(
    tmp_path: Path, kit: KitPaths, title: str, text: str, code: str, line: str
) -> None:
    receipt = judged(tmp_path, kit, text)
    found = found_in(receipt)
    assert receipt.outcome is Outcome.FAILED, title
    assert receipt.evaluations == []
    assert code in found
    assert found[code].artifact_line == line_of(text, line)


@pytest.mark.long
def test_what_runs_beside_the_model_is_found_and_the_score_stands(
    tmp_path: Path, kit: KitPaths, clean: Receipt
) -> None:
    outside = tmp_path / "score.json"
    at_import = f"""
    from __future__ import annotations
    import atexit, dataclasses, time
    @dataclasses.dataclass
    class Settings:
        width: int
    time.monotonic = lambda: 0.0
    nn.functional.cross_entropy = lambda *a, **k: torch.zeros(())
    atexit.register(lambda: open({str(outside)!r}, "w").write('{{"val_bpb": 0.5}}'))
    """
    text = submission(import_=at_import, load="return model.to(device).train()")
    text = text.replace("from __future__ import annotations\n", "", 1)
    text = text.replace('"""\n', '"""\nfrom __future__ import annotations\n', 1)
    receipt = judged(tmp_path, kit, text)
    found = found_in(receipt)
    assert {"PUR002", "PUR005", "PUR015", "PUR017", "SCR005"} <= found.keys()
    assert found["PUR002"].artifact_line == line_of(text, "@dataclasses.dataclass")
    assert found["PUR015"].artifact_line == line_of(text, "atexit.register")
    assert "at exit" in found["PUR015"].message
    assert found["PUR017"].artifact_line == line_of(text, "time.monotonic =")
    assert "time.monotonic was replaced" in found["PUR017"].message
    assert "cross_entropy was replaced" in found["PUR017"].message
    assert "training mode" in found["PUR005"].message
    if receipt.protections["files"] is None:
        assert not outside.exists()  # it tried, and reached nothing
    else:
        assert outside.read_text() == '{"val_bpb": 0.5}'  # it did write, and nobody reads it
    ours = [one.val_bpb for one in receipt.evaluations if one.name.startswith("trusted")]
    assert ours == [one.val_bpb for one in clean.evaluations if one.name.startswith("trusted")]


@pytest.mark.long
@pytest.mark.parametrize(
    ("load", "cause"),
    [
        ("import threading, time\nthreading.Thread(target=time.sleep, args=[30], daemon=True).start()", "Thread("),
        ("import signal\nsignal.signal(signal.SIGUSR1, lambda *_: None)", "signal.signal("),
    ],
)
def test_what_goes_on_beside_the_model_leaves_no_score(tmp_path: Path, kit: KitPaths, load: str, cause: str) -> None:
    text = submission(load=load)
    receipt = judged(tmp_path, kit, text)
    found = found_in(receipt)
    assert list(found) == ["PUR031"]
    assert found["PUR031"].artifact_line == line_of(text, cause)
    assert receipt.evaluations == []
    assert receipt.problem is not None
    assert receipt.problem.startswith("no score: PUR031")


@pytest.mark.long
def test_a_score_left_at_exit_is_found_by_the_room_even_if_no_hook_heard_it(tmp_path: Path, kit: KitPaths) -> None:
    text = submission(import_="import atexit", load="atexit.register(torch.save, {'val_bpb': 0.5}, 'score.pt')")
    found = found_in(judged(tmp_path, kit, text))
    assert list(found) == ["PUR015"]
    assert "score.pt" in found["PUR015"].message
    assert found["PUR015"].artifact_line == line_of(text, "atexit.register")


@pytest.mark.long
def test_a_last_word_in_the_result_channel_is_found(tmp_path: Path, kit: KitPaths) -> None:
    at_exit = """
    import atexit, os
    def claim():
        for fd in range(3, 32):
            try:
                os.write(fd, b'{"val_bpb": 0.5}')
            except OSError:
                pass
    atexit.register(claim)
    """
    text = submission(import_=at_exit)
    found = found_in(judged(tmp_path, kit, text))
    assert "PUR016" in found
    assert found["PUR016"].artifact_line == line_of(text, "os.write")


@pytest.mark.long
def test_a_model_that_knows_its_judge_is_found_by_the_kits_own_command(tmp_path: Path, kit: KitPaths) -> None:
    text = submission(after="if __name__ == 'scored':\n    logits = logits * 1.1")
    found = found_in(judged(tmp_path, kit, text))
    assert list(found) == ["SCR002"]
    assert found["SCR002"].artifact_line == line_of(text, "def load_for_eval")


@pytest.mark.long
def test_weights_that_change_while_loading_are_found(tmp_path: Path, kit: KitPaths) -> None:
    text = submission(load="with torch.no_grad():\n    model.head.weight.mul_(1.01)")
    found = found_in(judged(tmp_path, kit, text))
    assert list(found) == ["PUR007"]
    assert "head.weight" in found["PUR007"].message
    assert found["PUR007"].artifact_line == line_of(text, "def load_for_eval")


# --- The checkpoint ---


class Settings:
    width = 8


EMPTY = {"model_state": {}, "model_config": {}, "meta": dict.fromkeys(FILES.meta_keys, 1)}


def test_checkpoints_that_nobody_else_can_read_are_named(tmp_path: Path, kit: KitPaths) -> None:
    text = submission(load="content = content").replace("weights_only=True", "weights_only=False")
    receipt = judged(tmp_path, kit, text, content={**trained(), "config": Settings()})
    found = found_in(receipt)
    assert "CKP002" in found
    assert found["CKP002"].artifact_line == line_of(text, "torch.save(")
    assert f"{__name__}.Settings" in found["CKP002"].message


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ({**EMPTY, "model_state": {"_orig_mod.embed.weight": torch.zeros(1)}}, "CKP003"),
        ({**EMPTY, "model_state": {"module.embed.weight": torch.zeros(1)}}, "CKP003"),
        ({"model_state": {"embed.weight": torch.zeros(1)}}, "CKP004"),
        ({"model_state": {}}, "CKP001"),
        ([1, 2], "CKP001"),
    ],
)
def test_the_checkpoints_form_is_checked(tmp_path: Path, content: Any, code: str) -> None:
    from scorer.trusted.checkpoint import check
    from scorer.trusted.sources import Source

    artifact, checkpoint = written(tmp_path, submission(), content)
    found = check(checkpoint, inspect(checkpoint, "out/final.pt", FILES), Source(artifact, small_profile()), FILES)
    assert [finding.code for finding in found] == [code]
    assert found[0].artifact_line == line_of(TRAIN_PY, "torch.save(")


def test_a_clean_checkpoint_raises_nothing(tmp_path: Path) -> None:
    from scorer.trusted.checkpoint import check
    from scorer.trusted.sources import Source

    artifact, checkpoint = written(tmp_path, submission())
    assert check(checkpoint, inspect(checkpoint, "out/final.pt", FILES), Source(artifact, small_profile()), FILES) == []


def test_a_file_that_is_no_checkpoint_is_named(tmp_path: Path) -> None:
    from scorer.trusted.checkpoint import check
    from scorer.trusted.sources import Source

    artifact, checkpoint = written(tmp_path, submission())
    checkpoint.write_bytes(checkpoint.read_bytes()[:100])
    found = check(checkpoint, inspect(checkpoint, "out/final.pt", FILES), Source(artifact, small_profile()), FILES)
    assert [finding.code for finding in found] == ["CKP001"]


def test_a_checkpoint_that_cannot_be_read_is_told_before_anything_is_started(tmp_path: Path, kit: KitPaths) -> None:
    artifact, checkpoint = written(tmp_path, submission())
    checkpoint.write_bytes(b"no checkpoint" * 100)
    said: list[str] = []
    receipt = score(artifact, checkpoint, small_profile(), kit, None, said.append)
    (found,) = found_in(receipt).values()
    assert (found.code, receipt.outcome, said) == ("CKP001", Outcome.FAILED, [])
    assert len(found.message) < 200
    assert receipt.problem_site is not None
    assert receipt.problem_site.file == small_profile().launch.script


def test_no_checkpoint_is_no_score(tmp_path: Path, kit: KitPaths) -> None:
    artifact, checkpoint = written(tmp_path, submission())
    checkpoint.unlink()
    receipt = score(artifact, checkpoint, small_profile(), kit, None)
    assert receipt.outcome is Outcome.FAILED
    assert list(found_in(receipt)) == ["CKP001"]


# --- The recipe's own number ---


def local_receipt(clean: Receipt, **summary: str) -> Receipt:
    """A local lane that measured the clean submission at settings of its own: 200 tokens in batches of 5."""
    local = receipts_factory.receipt(Lane.LOCAL)
    public = next(one for one in clean.evaluations if one.name == ways.PUBLIC_SETTINGS)
    local.checkpoint = clean.checkpoint
    local.summary = {
        "eval_split": "public_val",
        "eval_seq_len": str(public.seq_len),
        "eval_batch_size": "5",
        "eval_tokens": str(public.num_tokens),
        "eval_bytes": str(public.num_bytes),
        "memory_total_nats": repr(float.fromhex(public.total_nats)),
        "checkpoint_total_nats": repr(float.fromhex(public.total_nats)),
        **summary,
    }
    return local


@pytest.mark.long
def test_the_recipes_own_settings_are_measured_and_agree(tmp_path: Path, kit: KitPaths, clean: Receipt) -> None:
    local = local_receipt(clean)
    receipt = judged(tmp_path, kit, submission(), local=local)
    assert receipt.observed_findings == []
    assert "trusted, local settings" in [one.name for one in receipt.evaluations]


def agreement(local: Receipt, clean: Receipt, tmp_path: Path) -> list[Finding]:
    """What comes of comparing one local lane with the clean receipt."""
    from scorer.trusted.agreement import with_recipe
    from scorer.trusted.sources import Source

    artifact, _ = written(tmp_path, submission())
    settings = ways.local_settings(local)
    assert settings is not None
    assert clean.checkpoint is not None
    measured = [one.model_copy(update={"batch_size": 5}) for one in clean.evaluations]
    return with_recipe(Source(artifact, small_profile()), small_profile(), local, clean.checkpoint, settings, measured)


def test_another_number_is_told_and_unlike_measurements_are_refused(tmp_path: Path, clean: Receipt) -> None:
    assert agreement(local_receipt(clean), clean, tmp_path) == []
    (found,) = agreement(local_receipt(clean, checkpoint_total_nats="1000.0"), clean, tmp_path)
    assert found.code == "SCR001"
    (found,) = agreement(local_receipt(clean, eval_bytes="7", checkpoint_total_nats="1.0"), clean, tmp_path)
    assert found.code == "SCR003"
    other = local_receipt(clean, checkpoint_total_nats="1.0")
    assert other.checkpoint is not None
    other.checkpoint = other.checkpoint.model_copy(update={"tensor_hashes": {"embed.weight": "0"}})
    (found,) = agreement(other, clean, tmp_path)
    assert found.code == "SCR003"


def test_unlike_measurements_name_the_recipes_line_that_measured(tmp_path: Path, clean: Receipt) -> None:
    local = local_receipt(clean, eval_bytes="7", checkpoint_total_nats="1.0")
    (found,) = agreement(local, clean, tmp_path)
    assert str(found.place).startswith("train.py:")  # nothing was seen to measure: the hook
    site = Site(file="recipe/evaluate.py", line=22)
    local.ranks[0].events.append(Event(kind="evaluate", detail="evaluate_bpb", site=site))
    (found,) = agreement(local, clean, tmp_path)
    assert str(found.place) == "recipe/evaluate.py:22"


def test_an_incomplete_block_is_told_with_the_key(clean: Receipt) -> None:
    local = local_receipt(clean)
    del local.summary["eval_bytes"]
    with pytest.raises(ValueError, match="eval_bytes"):
        ways.local_settings(local)


def test_a_number_that_is_none_is_told_with_the_key(clean: Receipt) -> None:
    with pytest.raises(ValueError, match="checkpoint_total_nats: 'nan or so', which is no number"):
        ways.local_settings(local_receipt(clean, checkpoint_total_nats="nan or so"))


@pytest.mark.parametrize("key", ["memory_val_bpb", "public_val_bpb"])
def test_bits_per_byte_are_those_of_the_nats_beside_them(clean: Receipt, key: str) -> None:
    (measured, *_) = ways.recipe_evaluations(local_receipt(clean))
    bpb = float.fromhex(measured.val_bpb)
    for told in (repr(bpb), f"{bpb:.3f}"):
        assert ways.local_settings(local_receipt(clean, **{key: told})) is not None
    with pytest.raises(ValueError, match=f"{key} is .*, but .*_total_nats over ln 2 times eval_bytes"):
        ways.local_settings(local_receipt(clean, **{key: f"{bpb - 0.002:.4f}"}))
