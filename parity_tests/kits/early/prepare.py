"""An early kit for the tests: plain-text shards, tokens of bytes and a few syllables, no start-up constants and no
`record_step_boundary`. What it is given by position it takes by position only.
"""

import argparse
import importlib.util
import json
import math
import os
import random
import re
import sys
import time
from pathlib import Path

import torch

TOKENIZER_VOCAB_SIZE = 256 + 20 + 4
TRAIN_TIME_BUDGET_SECONDS = 30
EVAL_TIMEOUT_SECONDS = 60

SYLLABLES = "ka lo mi ra tu ne so vi ba du pe ly gra sta zom ten fil ox é ß".split()  # noqa: SIM905
BREAK = "\n\x1e\n"
GROUP = 6  # documents
SHARDS = {"train": 3, "public_val": 1, "private_val": 1}


def get_dist_info():
    world = int(os.environ.get("WORLD_SIZE", "1"))
    return world > 1, int(os.environ.get("RANK", "0")), int(os.environ.get("LOCAL_RANK", "0")), world


def print0(*words):
    if get_dist_info()[1] == 0:
        print(*words)


class Tokenizer:
    """Single bytes and syllables; the longest piece that fits goes first."""

    def __init__(self):
        pieces = [piece.encode() for piece in SYLLABLES]
        self.ids = {bytes([byte]): byte for byte in range(256)} | {piece: 256 + i for i, piece in enumerate(pieces)}
        longest = sorted(pieces, key=len, reverse=True)
        self.pattern = re.compile(b"|".join(map(re.escape, longest)) + b"|[\x00-\xff]", re.DOTALL)

    def get_bos_token_id(self):
        return TOKENIZER_VOCAB_SIZE - 4

    def get_vocab_size(self):
        return TOKENIZER_VOCAB_SIZE

    def encode(self, docs, prepend=None, num_threads=1):
        if isinstance(docs, str):
            return self.encode([docs], prepend)[0]
        head = [] if prepend is None else [prepend]
        return [head + [self.ids[piece] for piece in self.pattern.findall(text.encode())] for text in docs]


def ensure_tokenizer(build_if_missing=False):
    return Tokenizer()


def get_token_bytes(device, /):
    tokenizer = Tokenizer()
    table = torch.zeros(TOKENIZER_VOCAB_SIZE, dtype=torch.int32)
    for piece, token in tokenizer.ids.items():
        table[token] = len(piece)
    return table.to(device)


def folder():
    return Path(os.environ["NEURON_COMPETITION_R1_CACHE_DIR"])


def _row_groups_for_split(split, start, step, /):
    groups = []
    for shard in range(SHARDS[split]):
        documents = (folder() / f"{split}-{shard}.txt").read_bytes().decode().split(BREAK)
        groups += [documents[first : first + GROUP] for first in range(0, len(documents), GROUP)]
    return groups[start::step]


def _document_batches(split, start, step, /, tokenizer_batch_size=4):
    groups = _row_groups_for_split(split, start, step)
    while True:
        for group in groups:
            for first in range(0, len(group), tokenizer_batch_size):
                yield group[first : first + tokenizer_batch_size]


def make_dataloader(tokenizer, batch_size, seq_len, split, device, /):
    """One endless stream, cut where a row is full."""
    _, rank, _, world = get_dist_info()
    stream = []
    for batch in _document_batches(split, rank, world):
        for ids in tokenizer.encode(batch, prepend=tokenizer.get_bos_token_id()):
            stream += ids
        while len(stream) > batch_size * seq_len:
            block = torch.tensor(stream[: batch_size * seq_len + 1])
            stream = stream[batch_size * seq_len :]
            inputs = block[:-1].view(batch_size, seq_len).to(torch.int32)
            yield inputs.to(device), block[1:].view(batch_size, seq_len).to(device), {"epoch": 1}


def _tokens(tokenizer, split, count):
    _, rank, _, world = get_dist_info()
    stream = []
    for batch in _document_batches(split, rank, world):
        for ids in tokenizer.encode(batch, prepend=tokenizer.get_bos_token_id()):
            stream.extend(ids)
        if len(stream) > count:
            return torch.tensor(stream[: count + 1])
    return None


def evaluate_bpb(model, tokenizer, batch_size, seq_len, device, /, split="public_val", max_tokens=600):
    """Row by row in float64, in the order of the positions; the logarithm is its own."""
    began = time.time()
    is_ddp, _, _, world = get_dist_info()
    count = math.ceil(max_tokens / world)
    tokens, lengths = _tokens(tokenizer, split, count), get_token_bytes("cpu").double()
    starts = list(range(0, count, seq_len))
    sums = torch.zeros(3, dtype=torch.float64)
    with torch.inference_mode():
        while starts:
            several = [tokens[start : start + seq_len + 1] for start in starts[:batch_size]]
            several = [row for row in several if len(row) == len(several[0])]
            starts = starts[len(several) :]
            rows = torch.stack(several)
            logits = model(rows[:, :-1].to(device)).cpu().double()
            for position in range(rows.shape[1] - 1):
                targets = rows[:, position + 1]
                scores = logits[:, position]
                nats = torch.logsumexp(scores, 1) - scores[torch.arange(len(rows)), targets]
                weights = lengths[targets]
                sums += torch.stack([nats[weights > 0].sum(), weights.sum(), torch.tensor(float(len(rows)))])
    if is_ddp:
        torch.distributed.all_reduce(sums)
    nats, size, number = sums.tolist()
    seconds = time.time() - began
    result = {"val_bpb": nats / math.log(2.0) / size, "num_tokens": int(number), "num_bytes": int(size)}
    return {**result, "total_nats": nats, "eval_seconds": seconds}


def causality_check(model, tokenizer, batch_size, seq_len, device, /):
    rows = _tokens(tokenizer, "public_val", batch_size * seq_len)[:-1].view(batch_size, seq_len)
    changed = rows.clone()
    changed[:, -1] = 65
    with torch.no_grad():
        apart = (model(rows) - model(changed))[:, :-1].abs().max()
    return {"passed": bool(apart < 1e-3), "max_abs_diff": float(apart)}


def setup():
    """Sentences of random syllables; a document of validation is none of training."""
    dice = random.Random(11)
    folder().mkdir(parents=True, exist_ok=True)
    for split, shards in SHARDS.items():
        for shard in range(shards):
            documents = []
            for _ in range(60):
                words = ["".join(dice.choices(SYLLABLES, k=dice.randint(1, 4))) for _ in range(dice.randint(4, 20))]
                documents.append(" ".join(words).capitalize() + dice.choice([".", "…", "漢"]))
            (folder() / f"{split}-{shard}.txt").write_bytes(BREAK.join(documents).encode())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=["setup", "eval-public"])
    parser.add_argument("--train-py")
    parser.add_argument("--checkpoint")
    for name, default in (("--seq-len", 16), ("--batch-size", 4), ("--max-tokens", 600)):
        parser.add_argument(name, type=int, default=default)
    a = parser.parse_args()
    if a.command == "setup":
        return setup()
    spec = importlib.util.spec_from_file_location("upload", a.train_py)
    upload = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(upload)
    model = upload.load_for_eval(a.checkpoint, torch.device("cpu"))
    print(json.dumps(evaluate_bpb(model, Tokenizer(), a.batch_size, a.seq_len, "cpu", max_tokens=a.max_tokens)))
    return None


if __name__ == "__main__":
    sys.exit(main())
