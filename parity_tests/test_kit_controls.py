"""Kits that are subtly wrong: what differs is named, beside the same kit left as it is, which raises nothing."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch

from parity_tests import kits
from scorer.contest import Profile
from scorer.findings import Finding
from scorer.room.cleanroom import Room
from scorer.room.kit import KitPaths, ensure_kit
from scorer.room.receipts import Evaluation
from scorer.trusted import data, official
from scorer.trusted import settings as ways
from scorer.trusted.kit_process import KitProcess
from scorer.trusted.nats import Sums, cross_entropy, rows
from scorer.trusted.sources import Source
from scorer.trusted.streams import StreamError, Streams

# The late kit, with functions that a file in the data directory chooses a fault for.
FAULTS = """

_right = dict(globals())


def fault():
    return (_cache() / "fault").read_text("utf-8")


def get_token_bytes(device="cpu"):
    table = _right["get_token_bytes"](device).clone()
    pieces = ensure_tokenizer().pieces
    if fault() == "leading spaces count twice":
        table[[token for piece, token in pieces.items() if piece[0] == " " and len(piece) > 1]] += 1
    elif fault() == "bytes are replacement characters":
        table[128:256] = 3
    elif fault() == "characters are counted":
        table[[pieces["straße"], pieces[" straße"], pieces["naïve"], pieces[" naïve"]]] -= 1
    elif fault() == "a word counts nothing":
        table[pieces[" kernel"]] = 0
    elif fault() in ("special tokens count", "BOS counts"):
        table[BOS] = 1
    elif fault() == "the table is short":
        table = table[:-5]
    return table


def evaluate_bpb(model, tokenizer, batch_size, seq_len, device, *, max_tokens=640, **options):
    if fault() == "the last window is dropped":
        max_tokens -= max_tokens % seq_len
    result = _right["evaluate_bpb"](model, tokenizer, batch_size, seq_len, device, max_tokens=max_tokens, **options)
    if fault() == "another logarithm":
        result["val_bpb"] = result["total_nats"] / result["num_bytes"] / 0.69
    elif fault() == "nats are half a per mille off":
        result |= {name: result[name] * 1.0005 for name in ("total_nats", "val_bpb")}
    elif fault() == "targets without bytes are no tokens":
        result["num_tokens"] = result["num_tokens"] - 30
    elif fault() == "no total":
        del result["total_nats"]
    elif fault() == "half a token":
        result["num_tokens"] = 609.5
    elif fault() == "endless bytes":
        result["num_bytes"] = float("inf")
    elif fault() == "out of time":
        result["eval_over_timeout"] = True
    elif fault() == "another time limit":
        result["eval_timeout"] = 1200
    elif fault() == "not a number":
        result["total_nats"] = torch.tensor(float("nan"))
    elif fault() == "it raises":
        raise KeyError("no such shard")
    elif fault() == "it ends the process":
        os._exit(3)
    elif fault() == "it hangs":
        time.sleep(100)
    elif fault() == "one large batch":
        model(torch.zeros(100, 100, dtype=torch.int32))
    elif fault() == "targets too":
        model(torch.zeros(4, 4, dtype=torch.int32), torch.zeros(4, 4))
    return result


def causality_check(model, tokenizer, batch_size, seq_len, device):
    if fault() == "blind":
        return {"passed": True, "max_abs_diff": 0.0}
    if fault() == "strict":
        return {"passed": False, "max_abs_diff": 0.5}
    if fault() == "silent":
        return None
    return _right["causality_check"](model, tokenizer, batch_size, seq_len, device)


def _document_batches(split, start, step, tokenizer_batch_size=128, shard_ids=None):
    if fault() == "training text is scored" and split == "train":
        yield next(_right["_document_batches"]("public_val", 0, 1))
    for number, batch in enumerate(_right["_document_batches"](split, start, step, tokenizer_batch_size)):
        if fault() == "a short shard" and split == "private_val" and number == 1:
            return
        yield batch
"""


@dataclass
class Bench:
    """One kit's process for all faults, on a bigram model of the test's own."""

    profile: Profile
    kit: KitPaths
    process: KitProcess
    room: Room
    source: Source
    count: int = 0

    def choose(self, fault: str) -> None:
        (self.kit.cache_dir / "fault").write_text(fault, "utf-8")

    @property
    def wanted(self) -> list[tuple[str, Any]]:
        return ways.wanted(self.profile, None)

    def streams(self, fault: str) -> Streams:
        self.choose(fault)
        self.count += 1
        out = self.room.records / f"streams-{self.count}"
        settings = [settings for _, settings in self.wanted]
        streams = Streams(self.process, out, self.profile.kit, settings, purity=("public_val", 64))
        streams.wait(60)
        return streams

    def table(self, fault: str) -> list[Finding]:
        streams = self.streams(fault)
        return data.table(self.source, self.profile, streams.facts, streams.token_bytes.tolist())

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        weights = torch.randn(500, 500, generator=torch.Generator().manual_seed(1))
        return weights[tokens.long()]

    def ours(self, streams: Streams) -> Evaluation:
        settings = self.profile.evaluation.public
        stream, sums = streams.stream(settings.split, 0, 1, settings.max_tokens), Sums()
        for inputs, targets in rows(stream, settings.batch_size, settings.seq_len):
            sums.add(cross_entropy(self.forward(inputs), targets), streams.token_bytes[targets.flatten()])
        return Evaluation(
            name=ways.PUBLIC_SETTINGS,
            device="cpu",
            num_tokens=sums.num_tokens,
            num_bytes=sums.num_bytes,
            total_nats=sums.total_nats.hex(),
            val_bpb=sums.val_bpb.hex(),
            seconds=0.0,
            **settings.model_dump(exclude={"max_tokens"}),
        )

    def evaluated(self, fault: str, reading: str = "") -> list[Finding]:
        """Findings of the kit's evaluation with a fault; the judge read its table under the fault `reading`."""
        streams = self.streams(reading)
        ours = self.ours(streams)
        self.choose(fault)
        process = {1: self.process}
        return official.evaluate(self.source, self.profile, process, streams, self.forward, [ours])[1]


def start(tmp_path: Path, room: Room, monkeypatch: pytest.MonkeyPatch) -> Bench:
    directory = tmp_path / "kit"
    shutil.copytree(kits.KITS / "late", directory, ignore=shutil.ignore_patterns("__pycache__"))
    text = (directory / "prepare.py").read_text("utf-8")
    before, _, _ = text.partition('\n\nif __name__ == "__main__":')
    profile = kits.profile("late")
    monkeypatch.setenv("SUBMISSION_PARITY_CACHE", str(tmp_path / "cache"))
    kit = ensure_kit(profile, directory)
    (directory / "prepare.py").write_text(before + FAULTS, "utf-8")
    variables = {profile.kit.cache_variable: str(kit.cache_dir), "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    process = KitProcess(room, room.environment(pythonpath=[directory], variables=variables), profile.kit)
    artifact, _ = kits.written(tmp_path / "submission", "late")
    return Bench(profile, kit, process, room, Source(artifact, profile))


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with Room() as room, pytest.MonkeyPatch.context() as monkeypatch:
        made = start(tmp_path_factory.mktemp("faults"), room, monkeypatch)
        made.streams("")
        made.process.map(4 * 32, 500)
        yield made
        made.process.close()


# --- evaluate_bpb ---


def test_a_kit_that_is_right_agrees_whatever_its_order_and_its_types(bench: Bench) -> None:
    assert bench.evaluated("") == []


@pytest.mark.parametrize(
    ("fault", "quantities", "words"),
    [
        (
            "the last window is dropped",
            ["tokens", "bytes", "nats"],
            "it ran 38 rows, the judge 39, 1 of which it left out",
        ),
        ("special tokens count", ["bytes", "nats"], "nats"),
        ("another logarithm", ["val_bpb"], "another logarithm"),
        ("nats are half a per mille off", ["nats"], "(1e-05 bpb)"),
        ("targets without bytes are no tokens", ["tokens"], "it counts 580 tokens, the judge 610"),
        ("out of time", ["eval_over_timeout"], "ran over its time limit of 90 s"),
        ("another time limit", ["eval_timeout"], "its time limit is 1200 s, it was given 90 s"),
        ("not a number", ["nats", "val_bpb"], "nan"),
    ],
)
def test_what_a_wrong_evaluation_counts_otherwise_is_named(
    bench: Bench, fault: str, quantities: list[str], words: str
) -> None:
    found = bench.evaluated(fault)
    assert {one.code for one in found} == {"SCR011"}
    assert [one.evidence["quantity"] for one in found] == quantities
    assert words in " ".join(one.message for one in found)


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("no total", "it returns no number total_nats"),
        ("half a token", "it returns no number num_tokens"),
        ("endless bytes", "it returns no number num_bytes"),
        ("it raises", "KeyError: 'no such shard' (prepare.py:"),
        ("one large batch", "10000 tokens at once, the judge has room for 128"),
        ("targets too", "TypeError"),
    ],
)
def test_an_evaluation_that_gives_no_number_is_told_as_not_run(bench: Bench, fault: str, words: str) -> None:
    (found,) = bench.evaluated(fault)
    assert found.code == "SCR012"
    assert words in found.message
    assert bench.evaluated("") == []  # the next one is run all the same


# --- causality_check ---


def looks_ahead(tokens: torch.Tensor) -> torch.Tensor:
    weights = torch.randn(500, 500, generator=torch.Generator().manual_seed(1))
    return weights[tokens.roll(-1, 1).long()]


@pytest.mark.parametrize(
    ("fault", "peeks", "ours", "codes"),
    [
        ("", False, False, []),
        ("", True, True, ["SCR013"]),
        ("", True, False, ["SCR013", "SCR014"]),
        ("strict", False, False, ["SCR013", "SCR014"]),
        ("blind", True, True, ["SCR014"]),
        ("silent", False, False, ["SCR012"]),
    ],
)
def test_the_kits_causality_check_is_believed_and_compared(
    bench: Bench, fault: str, peeks: bool, ours: bool, codes: list[str]
) -> None:
    bench.choose(fault)
    found = [bench.source.raise_at("PUR010", "it looks ahead", 3)] if ours else []
    forward = looks_ahead if peeks else bench.forward
    checks, findings = official.causality(bench.source, bench.profile, bench.process, forward, found, "PUR010")
    assert [one.code for one in findings] == codes
    assert [check.passed for check in checks] == ([] if fault == "silent" else ["SCR013" not in codes])


# --- The byte table ---


def test_a_table_that_adds_up_raises_nothing(bench: Bench) -> None:
    assert bench.table("") == []


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("leading spaces count twice", ["counts 10 for ' gradient', which has 9 (the leading space counts twice)"]),
        ("bytes are replacement characters", ["'🙂', which has 4 (3 bytes for each byte token", "tokens 240 + 159"]),
        ("characters are counted", ["' straße', which has 8 (characters", "' naïve', which has 7"]),
        ("a word counts nothing", ["counts 0 for ' kernel', which has 7"]),
    ],
)
def test_tokens_that_the_table_counts_wrongly_are_named(bench: Bench, fault: str, words: list[str]) -> None:
    (found,) = bench.table(fault)
    assert found.code == "SCR006"
    for one in words:
        assert one in found.message
    assert "the kit's table is used" in found.message
    assert found.evidence["documents"] > 0
    assert bench.evaluated(fault, reading=fault) == []  # the official table is the contest: both sides use it


def test_a_special_token_that_has_bytes_is_named(bench: Bench) -> None:
    (found,) = bench.table("BOS counts")
    assert found.code == "SCR006"
    assert "special tokens, which stand for no text: 495 (1)" in found.message


def test_a_table_of_another_size_is_no_table(bench: Bench) -> None:
    with pytest.raises(StreamError, match=r"get_token_bytes has shape \[495\], the tokenizer's vocabulary is 500"):
        bench.streams("the table is short")


# --- The data ---


def test_a_short_split_is_told_and_the_others_are_scored(bench: Bench) -> None:
    streams = bench.streams("a short shard")
    kept, found = data.enough(bench.source, streams, bench.wanted)
    assert {settings.split for _, settings in kept} == {"public_val"}
    assert [one.code for one in found] == ["SCR015"]
    assert "split private_val holds" in found[0].message
    assert "512 are asked for" in found[0].message
    kept, found = data.enough(bench.source, bench.streams(""), bench.wanted)
    assert kept == bench.wanted
    assert found == []


def test_a_split_that_the_kit_lacks_is_advice(bench: Bench) -> None:
    shards = bench.kit.cache_dir / "shards"
    shutil.move(shards / "private_val", shards / "elsewhere")
    try:
        kept, found = data.enough(bench.source, bench.streams(""), bench.wanted)
    finally:
        shutil.move(shards / "elsewhere", shards / "private_val")
    assert {settings.split for _, settings in kept} == {"public_val"}
    assert [(one.code, one.severity.value) for one in found] == [("SCR016", "advice")]
    assert "no shard of private_val" in found[0].message


def overlap(bench: Bench, fault: str, splits: list[str]) -> list[Finding]:
    bench.choose(fault)
    data.begin_overlap(bench.profile, bench.process, splits)
    return data.end_overlap(bench.source, bench.profile, bench.process)


def test_training_documents_that_are_scored_are_told(bench: Bench) -> None:
    assert overlap(bench, "", ["public_val", "private_val"]) == []
    (found,) = overlap(bench, "training text is scored", ["private_val", "public_val"])
    assert found.code == "SCR017"
    assert "8 of 112 documents of split train are among the 96 that are scored" in found.message
    assert overlap(bench, "training text is scored", ["private_val"]) == []
    (unread,) = overlap(bench, "", ["no_such_split"])
    assert "not checked" in unread.message


def test_a_kit_that_is_not_the_profiles_is_refused(bench: Bench) -> None:
    wrong = bench.profile.kit.model_copy(update={"vocab_size": 501})
    streams = Streams(bench.process, bench.room.records / "other", wrong, [], purity=("public_val", 64))
    with pytest.raises(StreamError, match=r"a vocabulary of 500, the contest profile says 501"):
        streams.wait(60)


@pytest.mark.long
@pytest.mark.parametrize(
    ("fault", "words"),
    [("it ends the process", "its process ended; its last words: "), ("it hangs", "still running after 2 s")],
)
def test_a_process_that_ends_or_hangs_is_told(tmp_path: Path, fault: str, words: str) -> None:
    with Room() as room, pytest.MonkeyPatch.context() as monkeypatch:
        other = start(tmp_path, room, monkeypatch)
        other.streams("")
        other.process.map(4 * 32, 500)
        streams = other.streams("")
        ours = other.ours(streams)
        other.choose(fault)
        budget = other.profile.budget.model_copy(update={"eval_timeout_seconds": 2.0})
        other.profile = other.profile.model_copy(update={"budget": budget})
        arguments = (other.source, other.profile, {1: other.process}, streams, other.forward, [ours])
        for expected in (words, "its process ended"):  # the second time there is nobody to ask
            measured, (found,) = official.evaluate(*arguments)
            assert measured == []
            assert found.code == "SCR012"
            assert expected in found.message
        other.process.map(4 * 32, 500)
        _, (found,) = official.causality(other.source, other.profile, other.process, other.forward, [], "PUR010")
        assert found.code == "SCR012"
        other.process.close()
