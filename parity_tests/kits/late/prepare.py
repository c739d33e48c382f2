"""A late kit for the tests: parquet shards, words and characters with bytes to fall back on, everything that a kit may
have, a module and a list of words beside it, and a taste for talking.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import math
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import batching
import numpy as np
import torch
import torch.distributed as dist
import torch.nn.functional as F
from batching import bar

HERE = Path(__file__).resolve().parent
TOKENIZER_VOCAB_SIZE = 5 * 100
TRAIN_TIME_BUDGET_SECONDS: int = 45
TRAIN_STARTUP_ALLOWANCE_CAP_SECONDS = 15
TRAIN_STARTUP_STEPS_EXCLUDED = 2
EVAL_TIMEOUT_SECONDS = 2 * 45
BOS = TOKENIZER_VOCAB_SIZE - 5
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ .,;:!?-'\"()0123456789\n"

print("late kit: loaded from", HERE.name)


def get_dist_info() -> tuple[bool, int, int, int]:
    """As torchrun says."""
    if dist.is_available() and dist.is_initialized():
        return True, dist.get_rank(), int(os.environ["LOCAL_RANK"]), dist.get_world_size()
    return False, 0, 0, 1


def print0(*values: Any, **options: Any) -> None:
    """Rank 0 alone."""
    if not get_dist_info()[1]:
        print(*values, **options)


class _Base:
    def get_bos_token_id(self) -> int:
        """First of five special tokens."""
        return BOS

    def get_vocab_size(self) -> int:
        """All tokens."""
        return TOKENIZER_VOCAB_SIZE


class Tokenizer(_Base):
    """Whole words with the space before them, else characters, else bytes."""

    def __init__(self, words: list[str]) -> None:
        pieces = [f" {word}" for word in words] + words + list(LETTERS)
        self.pieces = {piece: 256 + number for number, piece in enumerate(dict.fromkeys(pieces))}
        self.words = {piece for piece in self.pieces if len(piece) > 1}

    def encode(self, docs, prepend=None, num_threads=None):
        """Token ids, as tuples."""
        if isinstance(docs, str):
            return tuple(([] if prepend is None else [prepend]) + list(self._ids(docs)))
        return tuple(self.encode(text, prepend) for text in docs)

    def _ids(self, text: str) -> Iterator[int]:
        place = 0
        while place < len(text):
            for length in range(9, 1, -1):
                piece = text[place : place + length]
                if piece in self.words:
                    yield self.pieces[piece]
                    place += len(piece)
                    break
            else:
                letter = text[place]
                yield from [self.pieces[letter]] if letter in self.pieces else letter.encode()
                place += 1


def ensure_tokenizer(build_if_missing: bool = False) -> Tokenizer:
    """Needs words.txt, which lies beside this file."""
    return Tokenizer((HERE / "words.txt").read_text("utf-8").split())


def get_token_bytes(device: Any = "cpu") -> torch.Tensor:
    """From the data directory, where the setup left it."""
    return torch.from_numpy(np.load(_cache() / "tables" / "token_bytes.npy")).to(device)


def record_step_boundary(step: int) -> None:
    """Append to the log that the harness names."""
    if "NEURON_COMPETITION_R1_STEP_LOG" in os.environ:
        with Path(os.environ["NEURON_COMPETITION_R1_STEP_LOG"]).open("a") as log:
            log.write(f"{step} {time.time()}\n")


def _cache() -> Path:
    return Path(os.environ["NEURON_COMPETITION_R1_CACHE_DIR"])


def _row_groups_for_split(split: str, start: int, step: int, shard_ids: Any = None) -> list[tuple[Path, int]]:
    groups = batching.row_groups(_cache() / "shards" / split)
    if not groups:
        raise FileNotFoundError(f"no shard of {split}")
    return groups[start::step]


def _document_batches(split, start, step, tokenizer_batch_size=128, shard_ids=None):
    """Endless ((documents), (shard, row group, epoch))."""
    epoch = 0
    while True:
        epoch += 1
        for shard, group in _row_groups_for_split(split, start, step):
            documents = batching.read(shard, group)
            for first in range(0, len(documents), tokenizer_batch_size):
                yield documents[first : first + tokenizer_batch_size], (shard.name, group, epoch)


def make_dataloader(
    tokenizer, batch_size, seq_len, split, device, tokenizer_threads=4, tokenizer_batch_size=128, shard_ids=None
):
    """Rows that the documents are spread over, the shortest row first."""
    _, rank, _, world = get_dist_info()
    place: list[Any] = [None]

    def documents() -> Iterator[tuple[int, ...]]:
        for texts, place[0] in _document_batches(split, rank, world, tokenizer_batch_size):
            yield from tokenizer.encode(texts, prepend=BOS)

    endless = documents()
    inputs = torch.empty(batch_size, seq_len, dtype=torch.int32, device=device)
    while True:
        rows = torch.tensor(batching.fill(batch_size, seq_len + 1, endless))
        inputs.copy_(rows[:, :-1])
        yield inputs, rows[:, 1:].to(device), {"epoch": place[0][2]}


@torch.inference_mode()
def evaluate_bpb(
    model, tokenizer, batch_size, seq_len, device, *, split="public_val", max_tokens=640, timeout_seconds=90, **_
):
    """The last batch first; a last shorter row before all."""
    began = time.monotonic()
    is_ddp, rank, _, world = get_dist_info()
    count = -(-max_tokens // world)
    stream: list[int] = []
    for texts, _ in _document_batches(split, rank, world):
        for ids in tokenizer.encode(texts, BOS):
            stream.extend(ids)
        if len(stream) >= count + 1:
            break
    tokens = torch.tensor(stream[: count + 1])
    table = get_token_bytes(device).long()
    whole = count // seq_len
    batches = [
        (tokens[a * seq_len : b * seq_len].view(-1, seq_len), tokens[a * seq_len + 1 : b * seq_len + 1])
        for a in range(0, whole, batch_size)
        for b in [min(whole, a + batch_size)]
    ]
    if count % seq_len:
        batches.append((tokens[whole * seq_len : -1][None], tokens[whole * seq_len + 1 :]))
    totals = torch.zeros(3, dtype=torch.float64, device=device)
    for number, (inputs, targets) in enumerate(reversed(batches)):
        logits = model(inputs.to(device=device, dtype=torch.int32))
        loss = F.cross_entropy(logits.float().flatten(0, 1), targets.to(device), reduction="none")
        size = table[targets]
        totals += torch.stack([(loss * (size > 0)).double().sum(), size.sum().double(), torch.tensor(float(len(size)))])
        bar(number + 1, len(batches))
    if is_ddp:
        dist.all_reduce(totals)
    print0(f"\nevaluated {int(totals[2]):,} tokens")
    seconds = time.monotonic() - began
    return {
        "val_bpb": (totals[0] / totals[1] / math.log(2)),
        "num_tokens": totals[2].long(),
        "num_bytes": np.int64(totals[1].item()),
        "total_nats": totals[0],
        "eval_seconds": seconds,
        "eval_timeout": timeout_seconds,
        "eval_over_timeout": seconds > timeout_seconds,
        "split": split,
    }


@torch.inference_mode()
def causality_check(model, tokenizer, batch_size, seq_len, device):
    """Every row is changed from a place of its own on."""
    generator = torch.Generator().manual_seed(5)
    rows = torch.randint(0, BOS, (batch_size, seq_len), generator=generator, dtype=torch.int32)
    cuts = torch.randint(1, seq_len, (batch_size, 1), generator=generator)
    later = torch.arange(seq_len)[None] >= cuts
    changed = torch.where(later, (rows + 7) % BOS, rows)
    apart = (model(rows.to(device)).float() - model(changed.to(device)).float()).abs().amax(2)
    worst = apart.masked_fill(later, 0.0).max()
    return {"passed": bool(worst <= 1e-2), "max_abs_diff": worst.item(), "rows": batch_size}


def setup() -> None:
    """Sentences by a hash, of the words beside this file and of others."""
    words = [*(HERE / "words.txt").read_text("utf-8").split(), "queue", "Gewicht", "œuvre", "重み", "42", "🙂"]
    for split, shards in {"train": 2, "public_val": 1, "private_val": 1}.items():
        (_cache() / "shards" / split).mkdir(parents=True)
        for shard in range(shards):
            documents = []
            for number in range(48):
                state = hashlib.sha256(f"{split} {shard} {number}".encode()).digest()
                documents.append(
                    f"{number}) " + " ".join(words[byte % len(words)] for byte in state[: 8 + state[0] % 24])
                )
            batching.write(_cache() / "shards" / split / f"part-{shard}.parquet", documents, 8)
    tokenizer = ensure_tokenizer()
    table = np.zeros(TOKENIZER_VOCAB_SIZE, dtype=np.int32)
    table[:256] = 1
    for piece, token in tokenizer.pieces.items():
        table[token] = len(piece.encode())
    (_cache() / "tables").mkdir()
    np.save(_cache() / "tables" / "token_bytes.npy", table)
    print("setup: done")


def main() -> None:
    """setup, eval-public."""
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("setup")
    score = commands.add_parser("eval-public")
    score.add_argument("--train-py", type=Path)
    score.add_argument("--checkpoint", type=Path)
    score.add_argument("--seq-len", type=int, default=16)
    score.add_argument("--batch-size", type=int, default=4)
    score.add_argument("--max-tokens", type=int, default=640)
    arguments = parser.parse_args()
    if arguments.command == "setup":
        setup()
        return
    spec = importlib.util.spec_from_file_location("contestant", arguments.train_py)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    device = torch.device("cpu")
    model = module.load_for_eval(str(arguments.checkpoint), device)
    result = evaluate_bpb(
        model, ensure_tokenizer(), arguments.batch_size, arguments.seq_len, device, max_tokens=arguments.max_tokens
    )
    print(json.dumps({name: value.item() if hasattr(value, "item") else value for name, value in result.items()}))


if __name__ == "__main__":
    main()
