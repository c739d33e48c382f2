"""The stand-in kit: its data, loader, scoring and command line."""

import json
import math
import os
import subprocess
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import prepare
import pyarrow.parquet as pq
import pytest
import torch
import torch.multiprocessing as mp
from torch import nn

from scorer.contest import load
from scorer.room.kit import STAND_IN, ensure_kit

PROFILE = load("embedded")
VOCABULARY = prepare.TOKENIZER_VOCAB_SIZE


@pytest.fixture(scope="module")
def data() -> Path:
    return ensure_kit(PROFILE).cache_dir


@pytest.fixture(autouse=True)
def in_the_kit(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEURON_COMPETITION_R1_CACHE_DIR", str(data))
    for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE", "NEURON_COMPETITION_R1_STEP_LOG"):
        monkeypatch.delenv(name, raising=False)


def be_rank(monkeypatch: pytest.MonkeyPatch, rank: int, world_size: int) -> None:
    for name, value in (("RANK", rank), ("LOCAL_RANK", rank), ("WORLD_SIZE", world_size)):
        monkeypatch.setenv(name, str(value))


def documents(data: Path, split: str) -> list[str]:
    texts: list[str] = []
    for shard in sorted((data / split).glob("*.parquet")):
        texts += pq.read_table(shard).column("text").to_pylist()
    return texts


class Bigram(nn.Module):
    """Logits from the current token alone, the same on every machine."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.randn(64, VOCABULARY, generator=torch.Generator().manual_seed(1)))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.table[tokens.long() % 64]


class Uniform(nn.Module):
    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return torch.zeros(*tokens.shape, VOCABULARY)


class Peeking(Bigram):
    """Reads one token ahead."""

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return super().forward(tokens.roll(-1, dims=1))


# --- Data ---


def build(directory: Path, script: Path, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(script), "setup"],
        env={"PATH": os.environ["PATH"], "NEURON_COMPETITION_R1_CACHE_DIR": str(directory), **environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def small_kit(folder: Path, *edits: tuple[str, str]) -> Path:
    """The kit with little text, so that it builds quickly; `edits` are (text, replacement)."""
    folder.mkdir()
    text = (STAND_IN / "prepare.py").read_text("utf-8")
    few = ("in sorted(set(sys.stdlib_module_names) - LEFT_OUT)", 'in ("argparse", "typing")')
    for old, new in (few, *edits):
        assert text.count(old) == 1
        text = text.replace(old, new)
    (folder / "prepare.py").write_text(text, "utf-8")
    return folder / "prepare.py"


def recorded(directory: Path) -> dict[str, str]:
    hashes: dict[str, str] = json.loads((directory / "kit.json").read_text("utf-8"))["sha256"]
    return hashes


@pytest.mark.long
def test_the_same_python_builds_the_same_bytes(tmp_path: Path, data: Path) -> None:
    odd = {"PYTHONHASHSEED": "77", "LC_ALL": "tr_TR.UTF-8", "RAYON_NUM_THREADS": "3", "TZ": "Asia/Tokyo", "HOME": "/"}
    again = build(tmp_path / "again", STAND_IN / "prepare.py", **odd)
    assert (again.communicate()[1], again.returncode) == ("", 0)
    assert recorded(tmp_path / "again") == recorded(data)


def test_other_text_gives_other_bytes(tmp_path: Path) -> None:
    few = small_kit(tmp_path / "few")
    longer = small_kit(tmp_path / "longer", ("SHORTEST_DOCUMENT_CHARACTERS = 40", "SHORTEST_DOCUMENT_CHARACTERS = 80"))
    builders = [build(tmp_path / "a", few, PYTHONHASHSEED="1"), build(tmp_path / "b", longer, PYTHONHASHSEED="1")]
    for process in builders:
        assert (process.communicate()[1], process.returncode) == ("", 0)
    differing = {name for name, digest in recorded(tmp_path / "a").items() if recorded(tmp_path / "b")[name] != digest}
    assert differing == set(recorded(tmp_path / "a"))


def test_two_builders_at_once_leave_one_whole_kit(tmp_path: Path) -> None:
    script = small_kit(tmp_path / "kit")
    builders = [build(tmp_path / "data", script) for _ in range(2)]
    for process in builders:
        assert (process.communicate()[1], process.returncode) == ("", 0)
    files = {p.relative_to(tmp_path / "data").as_posix() for p in (tmp_path / "data").rglob("*") if p.is_file()}
    assert files == {*recorded(tmp_path / "data"), "kit.json"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "kit"]  # nothing half-built is left


def test_too_little_text_is_refused(tmp_path: Path) -> None:
    script = small_kit(tmp_path / "kit", ("for text in _topics().values() for", "for text in () for"))
    process = build(tmp_path / "data", script)
    assert "documents for" in process.communicate()[1]
    assert process.returncode == 1
    assert not (tmp_path / "data").exists()


def test_no_document_is_in_two_splits(data: Path) -> None:
    texts = {split: documents(data, split) for split in prepare.SPLITS}
    everything = [" ".join(text.split()) for split in texts.values() for text in split]
    assert len(everything) == len(set(everything))
    assert all(len(split) > 300 for split in texts.values())


def test_the_byte_table_adds_up_to_the_text(data: Path) -> None:
    tokenizer, table = prepare.ensure_tokenizer(), prepare.get_token_bytes("cpu")
    assert (table.dtype, table.shape) == (torch.int32, (VOCABULARY,))
    assert table[-4:].tolist() == [0, 0, 0, 0]
    assert int(table[:-4].min()) >= 1
    odd = ["naïve café", "日本語 text", "🙂" * 3, "\x00\u2028 \t\r\n  x", "<|bos|>"]
    for text in odd + [text for split in prepare.SPLITS for text in documents(data, split)]:
        ids = tokenizer.encode(text)
        assert int(table[ids].sum()) == len(text.encode())
        assert max(ids) < tokenizer.get_bos_token_id()  # text cannot spell a special token


def test_the_tokenizer_gives_the_text_back(data: Path) -> None:
    tokenizer = prepare.ensure_tokenizer()
    texts = [*documents(data, "public_val")[:50], "日本語 🙂\n\n  indented"]
    assert [tokenizer.decode(ids) for ids in tokenizer.encode(texts, prepend=tokenizer.get_bos_token_id())] == texts
    assert (tokenizer.get_vocab_size(), tokenizer.get_bos_token_id()) == (2048, 2044)
    assert PROFILE.kit.bos_token_id == tokenizer.get_bos_token_id()


def test_threads_change_nothing(data: Path) -> None:
    tokenizer, texts = prepare.ensure_tokenizer(), documents(data, "public_val")
    assert tokenizer.encode(texts, prepend=7, num_threads=1) == tokenizer.encode(texts, prepend=7, num_threads=5)


@pytest.mark.parametrize("split", ["public_val", "private_val"])
def test_every_rank_of_eight_has_its_part_of_a_split(split: str) -> None:
    settings = PROFILE.evaluation.public if split == "public_val" else PROFILE.evaluation.official
    groups = [prepare._row_groups_for_split(split, rank, 8) for rank in range(8)]
    assert len({group for rank in groups for group in rank}) == sum(map(len, groups)) >= 16
    tokenizer = prepare.ensure_tokenizer()
    for rank in range(8):
        count = math.ceil(settings.max_tokens / 8)
        assert len(prepare._evaluation_tokens(tokenizer, split, rank, 8, count)) == count + 1


def test_documents_start_over_with_the_next_epoch() -> None:
    batches = list(islice(prepare._document_batches("train", 3, 8, 64, shard_ids=[1]), 30))
    whole = [text for texts, epoch in batches if epoch == 1 for text in texts]
    again = [text for texts, epoch in batches if epoch == 2 for text in texts]
    assert batches[0][1] == 1
    assert len(whole) > 50
    assert again[: len(whole)] == whole[: len(again)]
    assert all(len(texts) <= 64 for texts, _ in batches)


def test_unknown_splits_shards_and_ranks_are_refused() -> None:
    with pytest.raises(prepare.KitError, match="expected one of train, public_val, private_val"):
        prepare._row_groups_for_split("val", 0, 1)
    with pytest.raises(prepare.KitError, match=r"has 4 shards; shard_ids asks for \[4\]"):
        prepare._row_groups_for_split("train", 0, 1, shard_ids=[4])
    with pytest.raises(prepare.KitError, match="none for rank 20 of 21"):
        prepare._row_groups_for_split("public_val", 20, 21)


# --- Loader ---


def packed(texts: Iterator[list[int]], rows: int, length: int) -> list[list[int]]:
    """Best-fit packing, written down once more: largest that fits, or else the shortest, cropped."""
    buffer: list[list[int]] = []
    made: list[list[int]] = []
    for _ in range(rows):
        row: list[int] = []
        while len(row) < length:
            while len(buffer) < 512:
                buffer.extend(next(texts))  # type: ignore[arg-type]
            room = length - len(row)
            fitting = [d for d in buffer if len(d) <= room]
            chosen = max(fitting, key=len) if fitting else min(buffer, key=len)
            buffer.remove(chosen)
            row += chosen[:room]
        made.append(row)
    return made


def test_rows_are_packed_by_best_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    be_rank(monkeypatch, 1, 2)
    tokenizer = prepare.ensure_tokenizer()
    loader = prepare.make_dataloader(tokenizer, 4, 96, "train", "cpu", tokenizer_batch_size=32)
    rows: list[list[int]] = []
    for inputs, targets, state in islice(loader, 5):
        assert (inputs.dtype, targets.dtype, inputs.shape, targets.shape) == (
            torch.int32,
            torch.int64,
            (4, 96),
            (4, 96),
        )
        assert torch.equal(inputs[:, 1:].long(), targets[:, :-1])
        assert state == {"epoch": 1}
        rows += torch.cat([inputs[:, :1].long(), targets], 1).tolist()
    bos = tokenizer.get_bos_token_id()
    encoded = (tokenizer.encode(texts, prepend=bos) for texts, _ in prepare._document_batches("train", 1, 2, 32))
    assert rows == packed(encoded, 20, 97)
    assert all(row[0] == bos for row in rows)


def test_the_next_batch_reuses_the_tensors() -> None:
    loader = prepare.make_dataloader(prepare.ensure_tokenizer(), 2, 64, "train", "cpu")
    inputs, targets, _ = next(loader)
    before = inputs.clone()
    again, also, _ = next(loader)
    assert again.data_ptr() == inputs.data_ptr()
    assert also.data_ptr() == targets.data_ptr()
    assert not torch.equal(before, inputs)


def test_ranks_see_different_rows_and_one_rank_the_same_again(monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = prepare.ensure_tokenizer()
    seen = []
    for rank in (0, 1, 1):
        be_rank(monkeypatch, rank, 2)
        seen.append(
            next(prepare.make_dataloader(tokenizer, 2, 64, "train", "cpu", tokenizer_threads=rank + 1))[0].clone()
        )
    assert not torch.equal(seen[0], seen[1])
    assert torch.equal(seen[1], seen[2])


def test_the_epoch_counts_from_one() -> None:
    loader = prepare.make_dataloader(prepare.ensure_tokenizer(), 16, 128, "public_val", "cpu")
    epochs = [state["epoch"] for _, _, state in islice(loader, 60)]
    assert epochs[0] == 1
    assert epochs[-1] >= 2
    assert epochs == sorted(epochs)


# --- Scoring ---


def test_a_uniform_model_scores_the_logarithm_of_the_vocabulary() -> None:
    result = prepare.evaluate_bpb(Uniform(), prepare.ensure_tokenizer(), 32, 128, "cpu")
    tokens = prepare._evaluation_tokens(prepare.ensure_tokenizer(), "public_val", 0, 1, 4096)
    scored = int((prepare.get_token_bytes()[tokens[1:]] > 0).sum())
    assert (result["num_tokens"], len(tokens)) == (4096, 4097)
    assert scored < 4096  # BOS targets count in neither sum
    assert result["total_nats"] == pytest.approx(scored * math.log(VOCABULARY), rel=1e-6)
    assert result["val_bpb"] == result["total_nats"] / (math.log(2) * result["num_bytes"])
    assert set(result) == {
        *("val_bpb", "num_tokens", "num_bytes", "total_nats", "eval_seconds", "eval_timeout", "eval_over_timeout")
    }


def test_the_last_partial_row_counts() -> None:
    tokenizer, model = prepare.ensure_tokenizer(), Bigram()
    whole = prepare.evaluate_bpb(model, tokenizer, 8, 64, "cpu", max_tokens=64 * 21)
    more = prepare.evaluate_bpb(model, tokenizer, 8, 64, "cpu", max_tokens=64 * 21 + 5)
    assert more["num_tokens"] == whole["num_tokens"] + 5
    assert more["num_bytes"] > whole["num_bytes"]
    assert more["total_nats"] > whole["total_nats"]


def test_a_model_without_context_scores_the_same_at_any_shape() -> None:
    tokenizer, model = prepare.ensure_tokenizer(), Bigram()
    nats = {
        prepare.evaluate_bpb(model, tokenizer, batch, length, "cpu", max_tokens=4096)["total_nats"]
        for batch, length in ((1, 4096), (7, 128), (32, 96))
    }
    assert len(nats) == 1  # the sum is exact, so its order does not matter


def test_evaluation_leaves_the_training_mode_alone() -> None:
    model = Bigram().train()
    prepare.evaluate_bpb(model, prepare.ensure_tokenizer(), 4, 64, "cpu", max_tokens=256)
    assert model.training
    model.eval()
    prepare.evaluate_bpb(model, prepare.ensure_tokenizer(), 4, 64, "cpu", max_tokens=256)
    assert not model.training


def test_more_tokens_than_the_split_has_are_refused() -> None:
    with pytest.raises(prepare.KitError, match="lower max_tokens"):
        prepare.evaluate_bpb(Uniform(), prepare.ensure_tokenizer(), 32, 128, "cpu", max_tokens=10_000_000)


def test_ranks_without_a_process_group_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    be_rank(monkeypatch, 0, 2)
    with pytest.raises(prepare.KitError, match="no process group"):
        prepare.evaluate_bpb(Uniform(), prepare.ensure_tokenizer(), 32, 128, "cpu", max_tokens=256)


def _evaluate_as_rank(rank: int, folder: str) -> None:
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE="2")
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=2)
    result = prepare.evaluate_bpb(Bigram(), prepare.ensure_tokenizer(), 8, 64, "cpu", max_tokens=2001)
    Path(folder, f"{rank}.json").write_text(json.dumps(result))
    torch.distributed.destroy_process_group()


def test_the_token_set_depends_on_the_world_size_and_sums_are_shared(tmp_path: Path) -> None:
    mp.start_processes(_evaluate_as_rank, args=(str(tmp_path),), nprocs=2, start_method="spawn")
    ranks = [json.loads((tmp_path / f"{rank}.json").read_text()) for rank in (0, 1)]
    tokenizer, table = prepare.ensure_tokenizer(), prepare.get_token_bytes()
    parts = [prepare._evaluation_tokens(tokenizer, "public_val", rank, 2, 1001)[1:] for rank in (0, 1)]
    for result in ranks:
        assert result["num_tokens"] == 2002  # ceil(2001 / 2) for each
        assert result["num_bytes"] == sum(int(table[part].sum()) for part in parts)
        assert result["total_nats"] == ranks[0]["total_nats"]
    alone = prepare.evaluate_bpb(Bigram(), tokenizer, 8, 64, "cpu", max_tokens=2002)
    assert alone["num_bytes"] != ranks[0]["num_bytes"]


def test_the_causality_check_tells_a_causal_model_from_a_peeking_one() -> None:
    tokenizer = prepare.ensure_tokenizer()
    assert prepare.causality_check(Bigram(), tokenizer, 4, 64, "cpu") == {"passed": True, "max_abs_diff": 0.0}
    peeking = prepare.causality_check(Peeking(), tokenizer, 4, 64, "cpu")
    assert not peeking["passed"]
    assert peeking["max_abs_diff"] > 1.0


# --- Harness and command line ---


def test_step_boundaries_are_logged_by_rank_zero(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare.record_step_boundary(0)  # no log is set: nothing happens
    monkeypatch.setenv("NEURON_COMPETITION_R1_STEP_LOG", str(tmp_path / "steps"))
    prepare.record_step_boundary(0)
    prepare.record_step_boundary(1)
    be_rank(monkeypatch, 1, 2)
    prepare.record_step_boundary(2)
    lines = [json.loads(line) for line in (tmp_path / "steps").read_text().splitlines()]
    assert [line["step"] for line in lines] == [0, 1]
    assert lines[0]["time"] <= lines[1]["time"]


SUBMISSION = """
import torch
from torch import nn

class Bigram(nn.Module):
    def __init__(self, table):
        super().__init__()
        self.table = nn.Parameter(table)

    def forward(self, tokens):
        return self.table[tokens.long() % 64]

def load_for_eval(checkpoint_path, device):
    return Bigram(torch.load(checkpoint_path, weights_only=True)["table"]).to(device)

if __name__ == "__main__":
    raise SystemExit("run as a script")
"""


def command(data: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(STAND_IN / "prepare.py"), *words],
        env={"PATH": os.environ["PATH"], "NEURON_COMPETITION_R1_CACHE_DIR": str(data), **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_eval_public_prints_what_evaluate_bpb_returns(tmp_path: Path, data: Path) -> None:
    (tmp_path / "train.py").write_text(SUBMISSION, "utf-8")
    model = Bigram()
    torch.save({"table": model.table.detach()}, tmp_path / "final.pt")
    words = ["--train-py", str(tmp_path / "train.py"), "--checkpoint", str(tmp_path / "final.pt"), "--device", "cpu"]
    done = command(data, "eval-public", *words, "--seq-len", "96", "--max-tokens", "5000")
    assert (done.stderr, done.returncode) == ("", 0)
    printed: dict[str, Any] = json.loads(done.stdout)
    expected = prepare.evaluate_bpb(model, prepare.ensure_tokenizer(), 32, 96, "cpu", max_tokens=5000)
    for name in ("val_bpb", "num_tokens", "num_bytes", "total_nats"):
        assert printed[name] == expected[name]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [("train.py", "x = 1\n", "no function load_for_eval"), ("other.txt", "", "no Python file to load")],
)
def test_eval_public_says_what_is_missing(tmp_path: Path, data: Path, name: str, text: str, said: str) -> None:
    (tmp_path / name).write_text(text, "utf-8")
    done = command(
        data, "eval-public", "--train-py", str(tmp_path / name), "--checkpoint", "final.pt", "--device", "cpu"
    )
    assert done.returncode == 1
    assert said in done.stderr
    assert done.stdout == ""


@pytest.mark.long
def test_setup_leaves_whole_data_alone_and_refuses_what_it_did_not_build(tmp_path: Path, data: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in data.rglob("*")}
    assert command(data, "setup").returncode == 0
    assert before == {path: path.stat().st_mtime_ns for path in data.rglob("*")}
    wrong = command(data, "setup", "--num-train-shards", "2")
    assert wrong.returncode == 1
    assert "built with 4 train shards" in wrong.stderr
    (tmp_path / "mine.txt").write_text("mine")
    foreign = command(tmp_path, "setup")
    assert foreign.returncode == 1
    assert "holds no kit.json" in foreign.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_without_a_data_directory_it_says_what_to_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEURON_COMPETITION_R1_CACHE_DIR", str(tmp_path / "none"))
    with pytest.raises(prepare.KitError, match=r"python prepare\.py setup"):
        prepare.ensure_tokenizer()
    monkeypatch.delenv("NEURON_COMPETITION_R1_CACHE_DIR")
    with pytest.raises(prepare.KitError, match="NEURON_COMPETITION_R1_CACHE_DIR is not set"):
        prepare.get_token_bytes("cpu")


def test_the_profile_states_the_kits_constants() -> None:
    for name, value in PROFILE.kit.constants.items():
        assert getattr(prepare, name) == value
    for name in PROFILE.kit.symbols:
        assert hasattr(prepare, name), name
    assert PROFILE.evaluation.public.max_tokens == prepare.EVAL_PUBLIC_TOKENS
