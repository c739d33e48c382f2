"""Two kits that share nothing but the interface: checked, set up, asked for their own numbers, never changed."""

from __future__ import annotations

import contextlib
import math
import shutil
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from parity_tests import kits, receipts_factory, room_programs
from parity_tests.trusted_samples import found_in, line_of
from scorer.artifact import Artifact
from scorer.cli.commands import app
from scorer.contest import EvaluationSettings
from scorer.files import sha256_file
from scorer.room import receipts
from scorer.room.cleanroom import Room
from scorer.room.kit import KitPaths, ensure_kit
from scorer.room.lane import LaneSpec, run_lane
from scorer.room.receipts import Clock, Evaluation, Lane, Outcome, Receipt
from scorer.trusted import official
from scorer.trusted import settings as ways
from scorer.trusted.judge import score
from scorer.trusted.kit_process import KitProcess
from scorer.trusted.sources import Source
from scorer.trusted.streams import Streams

NAMES = ("early", "late")


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def private_cache(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUBMISSION_PARITY_CACHE", str(cache))
    monkeypatch.delenv("NEURON_COMPETITION_R1_CACHE_DIR", raising=False)


def kit_of(name: str) -> KitPaths:
    directory = kits.KITS / name
    return ensure_kit(kits.profile(name), directory, sha256_file(directory / "prepare.py"))


def judged(directory: Path, name: str, text: str | None = None, **changes: object) -> Receipt:
    kit = kit_of(name)
    artifact, checkpoint = kits.written(directory, name, text)
    receipt = score(artifact, checkpoint, kits.profile(name, **changes), kit, None)
    kit.check_unchanged()
    return receipt


def by_hand(name: str, kit: KitPaths, model: torch.nn.Module, settings: EvaluationSettings) -> tuple[float, int]:
    """(nats, bytes) row by row in float64, from documents that were read and encoded without the kit's code."""
    facts, seq_len, world_size = kits.FACTS[name], settings.seq_len, settings.world_size
    documents = facts.documents(kit.cache_dir, settings.split)
    size = {"early": 6, "late": 8}[name]
    groups = [documents[first : first + size] for first in range(0, len(documents), size)]
    nats, count = 0.0, 0
    for rank in range(world_size):
        stream: list[tuple[int, int]] = []  # token, bytes
        for document in (text for group in groups[rank::world_size] for text in group):
            stream += [(facts.bos, 0), *encoded(name, document)]
        stream = stream[: math.ceil(settings.max_tokens / world_size) + 1]
        for first in range(0, len(stream) - 1, seq_len):
            row = stream[first : first + seq_len + 1]
            with torch.no_grad():
                logits = model(torch.tensor([[token for token, _ in row[:-1]]]))[0].double()
            for position, (target, length) in enumerate(row[1:]):
                if length:
                    nats -= float(logits[position].log_softmax(0)[target])
                    count += length
    return nats, count


def encoded(name: str, text: str) -> list[tuple[int, int]]:
    """Tokens with their bytes, by another algorithm than the kit's."""
    if name == "early":
        pieces = "ka lo mi ra tu ne so vi ba du pe ly gra sta zom ten fil ox é ß".split()  # noqa: SIM905
        table = {piece.encode(): 256 + number for number, piece in enumerate(pieces)}
        data, found = text.encode(), []
        while data:
            piece = next((p for p in sorted(table, key=len, reverse=True) if data.startswith(p)), data[:1])
            found.append((table.get(piece, piece[0]), len(piece)))
            data = data[len(piece) :]
        return found
    words = (kits.KITS / "late/words.txt").read_text("utf-8").split()
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ .,;:!?-'\"()0123456789\n"
    order = list(dict.fromkeys([f" {word}" for word in words] + words + list(letters)))
    found = []
    while text:
        long = next((p for p in sorted(order, key=len, reverse=True) if len(p) > 1 and text.startswith(p)), text[0])
        if long in order:
            found.append((256 + order.index(long), len(long.encode())))
        else:
            found += [(byte, 1) for byte in long.encode()]
        text = text[len(long) :]
    return found


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_a_lane_is_observed_and_its_checkpoint_scored_with_either_kit(tmp_path: Path, name: str) -> None:
    """Updates are closed with the kit's `record_step_boundary` and, by an early kit, without it."""
    kit, contest = kit_of(name), kits.profile(name, evaluation__cross_check=["public", "official"])
    (tmp_path / "train.py").write_text(kits.trains(name), "utf-8")
    launch = room_programs.plan()
    artifact = Artifact.from_file(tmp_path / "train.py", launch.text)
    spec = LaneSpec(Lane.ARTIFACT, launch, artifact, Clock(kind="virtual", seconds_per_update=0.5))
    lane = run_lane(spec, contest, kit, tmp_path / "keep")
    assert lane.problem is None
    assert [found["message"] for found in lane.observed_findings] == []
    (rank,) = lane.ranks
    assert len(rank.updates) == 12
    printed = [line.split("loss ")[1] for line in lane.log_tail if line.startswith("step")]
    assert [f"{float.fromhex(update.losses[0]):.4f}" for update in rank.updates] == printed
    assert [len(update.batch_hashes) for update in rank.updates[:4]] == [1] * 4  # inside the lockstep window
    assert lane.kit == kit.record

    checkpoint = tmp_path / "keep/out/final.pt"
    receipt = score(artifact, checkpoint, contest, kit, None)
    assert [found["message"] for found in receipt.observed_findings] == []
    assert receipt.outcome is Outcome.COMPLETE
    measured = {one.name: one for one in receipt.evaluations}
    model = kits.model(name)
    model.load_state_dict(torch.load(checkpoint, weights_only=True)["model_state"])
    for settings in ("public", "official"):
        theirs, ours = measured[f"kit, called, {settings} settings"], measured[f"trusted, {settings} settings"]
        nats, count = by_hand(name, kit, model, getattr(contest.evaluation, settings))
        assert ours.num_bytes == count
        assert (theirs.num_tokens, theirs.num_bytes) == (ours.num_tokens, ours.num_bytes)
        for one in (theirs, ours):
            assert math.isclose(float.fromhex(one.total_nats), nats, rel_tol=1e-6)
            assert math.isclose(float.fromhex(one.val_bpb), nats / math.log(2) / count, rel_tol=1e-6)
    assert measured["kit, by its command"].num_bytes == measured["trusted, public settings"].num_bytes
    assert [(check.name, check.passed) for check in receipt.kit_checks] == [("causality_check", True)]
    assert set(receipt.kit.files) == set(kit.record.files) >= {"prepare.py"}
    kit.check_unchanged()
    assert not list(kit.directory.rglob("*.pyc"))


@pytest.mark.parametrize("name", NAMES)
def test_a_kit_that_adds_up_over_ranks_is_run_on_as_many(tmp_path: Path, name: str) -> None:
    kit = kit_of(name)
    contest = kits.profile(name, evaluation__public__world_size=2, evaluation__public__max_tokens=301)
    settings, model = contest.evaluation.public, kits.model(name)
    variables = {contest.kit.cache_variable: str(kit.cache_dir), "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}

    def forward(tokens: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            logits: torch.Tensor = model(tokens)
        return logits

    with Room() as room, contextlib.ExitStack() as stack:
        environment = room.environment(pythonpath=[kit.directory], variables=variables)
        processes = {size: KitProcess(room, environment, contest.kit, size) for size in (1, 2)}
        for process in processes.values():
            stack.callback(process.close)
        streams = Streams(processes[1], room.records / "streams", contest.kit, [settings], purity=("public_val", 64))
        streams.wait(120)
        processes[2].map(64, kits.FACTS[name].vocabulary)
        nats, count = by_hand(name, kit, model, settings)
        ours = Evaluation(
            name=ways.PUBLIC_SETTINGS,
            device="cpu",
            num_tokens=302,
            num_bytes=count,
            total_nats=nats.hex(),
            val_bpb=(nats / math.log(2) / count).hex(),
            seconds=0.0,
            **settings.model_dump(exclude={"max_tokens"}),
        )
        source = Source(kits.written(tmp_path, name)[0], contest)
        measured, found = official.evaluate(source, contest, processes, streams, forward, [ours])
    assert [one.message for one in found] == []
    assert [(one.num_tokens, one.num_bytes, one.world_size) for one in measured] == [(302, count, 2)]


@pytest.mark.long
def test_what_the_kits_causality_check_says_is_compared_with_the_judges_own_test(tmp_path: Path) -> None:
    text = kits.train_py("late").replace("        # before\n", "        x = torch.cat((x[:, 1:], x[:, -1:]), 1)\n")
    found = found_in(judged(tmp_path, "late", text))
    assert {"PUR010", "SCR013"} <= found.keys()
    assert "SCR014" not in found
    assert found["SCR013"].artifact_line == found["PUR010"].artifact_line == line_of(text, "def forward(self, x)")


@pytest.mark.long
def test_a_kit_is_pinned_and_used_by_the_command_line(tmp_path: Path) -> None:
    contest = kits.write_profile(kits.profile("early"), tmp_path / "contest.yaml")
    kits.written(tmp_path, "early")
    directory = tmp_path / "kit"
    shutil.copytree(kits.KITS / "early", directory, ignore=shutil.ignore_patterns("__pycache__"))
    digest = sha256_file(directory / "prepare.py")
    words = ["score", str(tmp_path / "train.py"), "--checkpoint", str(tmp_path / "final.pt"), "--contest", str(contest)]
    words += ["--kit", str(directory), "-o", str(tmp_path / "receipt.json"), "--kit-sha256"]
    result = CliRunner().invoke(app, [*words, "0" * 64])
    assert result.exit_code == 2
    assert "--kit-sha256 expects 0000" in result.output
    result = CliRunner().invoke(app, [*words, digest])
    assert result.exit_code == 0, result.output
    receipt = receipts.read(tmp_path / "receipt.json")
    assert receipt.kit.prepare_sha256 == digest
    assert not receipt.kit.stand_in
    assert sorted(path.name for path in directory.iterdir()) == ["prepare.py"]


def test_a_kit_that_was_changed_meanwhile_ends_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    contest = kits.write_profile(kits.profile("early"), tmp_path / "contest.yaml")
    kits.written(tmp_path, "early")
    directory = tmp_path / "kit"
    shutil.copytree(kits.KITS / "early", directory, ignore=shutil.ignore_patterns("__pycache__"))
    receipt = receipts_factory.receipt(Lane.TRUSTED)

    def judge(*_: object) -> Receipt:
        (directory / "helper.py").write_text("import os", "utf-8")
        return receipt

    words = ["score", str(tmp_path / "train.py"), "--checkpoint", str(tmp_path / "final.pt"), "--contest", str(contest)]
    words += ["--kit", str(directory), "-o", str(tmp_path / "receipt.json")]
    monkeypatch.setattr("scorer.trusted.judge.score", lambda *_: receipt)
    assert CliRunner().invoke(app, words).exit_code == 0
    monkeypatch.setattr("scorer.trusted.judge.score", judge)
    (tmp_path / "receipt.json").unlink()
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 2
    assert "helper.py: was added while the kit was in use" in result.output
    assert not (tmp_path / "receipt.json").exists()
