"""A small contest kit that runs anywhere: the stand-in for an organiser's `prepare.py`. It is not the organiser's.

It offers the functions and the command line that submissions and scorers use of a real kit, with the same split,
packing, clock and scoring semantics, on text that every Python installation carries: the language reference's topics
(`pydoc_data.topics`) and the docstrings of the standard library, read as text and never imported.

    NEURON_COMPETITION_R1_CACHE_DIR=DIR python prepare.py setup          # build tokenizer and shards once
    python prepare.py eval-public --train-py train.py --checkpoint out/final.pt

The data is the same, byte for byte, for one version of Python, pyarrow and tokenizers; `kit.json` holds its hashes.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import importlib.util
import json
import math
import os
import platform
import re
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, overload

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import tokenizers
import torch
import torch.distributed as dist
import torch.nn.functional as F

# --- The contract: what submissions and scorers import ---

TOKENIZER_VOCAB_SIZE = 2048
TRAIN_TIME_BUDGET_SECONDS = 60
TRAIN_STARTUP_ALLOWANCE_CAP_SECONDS = 30
TRAIN_STARTUP_STEPS_EXCLUDED = 5
EVAL_TIMEOUT_SECONDS = 120
EVAL_PUBLIC_TOKENS = 4_096
EVAL_SEQ_LEN = 128
EVAL_BATCH_SIZE = 32
CAUSALITY_TOLERANCE = 1e-3

SPECIAL_TOKENS = ("<|bos|>", "<|user|>", "<|assistant|>", "<|end|>")  # ids at the end of the vocabulary, BOS first
SPLITS = ("train", "public_val", "private_val")
TRAIN_SHARDS = 4
ROW_GROUPS_PER_SHARD = 16  # two for each of 8 ranks
PACKING_BUFFER_DOCUMENTS = 512  # the loader looks for the best fit among at least so many documents


class KitError(RuntimeError):
    """The kit cannot do what it was asked; the message says what to do."""


def get_dist_info() -> tuple[bool, int, int, int]:
    """(is_ddp, rank, local_rank, world_size), from the variables that torchrun sets; (False, 0, 0, 1) without them."""
    if "RANK" not in os.environ:
        return False, 0, 0, 1
    return True, int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"]), int(os.environ["WORLD_SIZE"])


def print0(*values: object, **options: Any) -> None:
    """`print` on rank 0 only."""
    if get_dist_info()[1] == 0:
        print(*values, **options)


class Tokenizer:
    """Byte-level BPE: every document round-trips, and each ordinary token stands for a fixed number of bytes."""

    def __init__(self, ordinary: tokenizers.Tokenizer) -> None:
        self._ordinary = ordinary

    def get_bos_token_id(self) -> int:
        """The token that opens every document."""
        return TOKENIZER_VOCAB_SIZE - len(SPECIAL_TOKENS)

    def get_vocab_size(self) -> int:
        """Ordinary and special tokens together."""
        return TOKENIZER_VOCAB_SIZE

    @overload
    def encode(self, docs: str, prepend: int | None = None, num_threads: int = 4) -> list[int]: ...
    @overload
    def encode(self, docs: list[str], prepend: int | None = None, num_threads: int = 4) -> list[list[int]]: ...
    def encode(
        self, docs: str | list[str], prepend: int | None = None, num_threads: int = 4
    ) -> list[int] | list[list[int]]:
        """Token ids of one document, or of each; `prepend` goes before each document's tokens.

        Special tokens written out in the text are ordinary text. The ids do not depend on `num_threads`.
        """
        head = [] if prepend is None else [prepend]
        if isinstance(docs, str):
            return head + self._ids(docs)
        if num_threads <= 1 or len(docs) < 2 * num_threads:
            return [head + self._ids(document) for document in docs]
        with ThreadPoolExecutor(num_threads) as pool:
            return [head + ids for ids in pool.map(self._ids, docs)]

    def decode(self, ids: Iterable[int]) -> str:
        """The text of the ordinary tokens; special tokens are left out."""
        bos = self.get_bos_token_id()
        return str(self._ordinary.decode([i for i in ids if i < bos]))

    def _ids(self, document: str) -> list[int]:
        ids: list[int] = self._ordinary.encode(document).ids
        return ids


def ensure_tokenizer(build_if_missing: bool = False) -> Tokenizer:
    """The tokenizer in the data directory; with `build_if_missing` the data is built first where it is absent."""
    if build_if_missing:
        setup()
    path = _data("tokenizer.json")
    return Tokenizer(tokenizers.Tokenizer.from_file(str(path)))


def get_token_bytes(device: torch.device | str = "cpu") -> torch.Tensor:
    """int32 [TOKENIZER_VOCAB_SIZE]: the number of UTF-8 bytes that each token stands for, 0 for special tokens."""
    table = np.load(_data("token_bytes.npy"))
    return torch.from_numpy(table).to(device)


def record_step_boundary(step: int) -> None:
    """Say that update `step` has ended. Rank 0 appends a line to NEURON_COMPETITION_R1_STEP_LOG, where that is set."""
    log = os.environ.get("NEURON_COMPETITION_R1_STEP_LOG")
    if log and get_dist_info()[1] == 0:
        line = json.dumps({"step": int(step), "time": time.time()}) + "\n"
        handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        try:
            os.write(handle, line.encode())
        finally:
            os.close(handle)


# --- Documents and batches ---


def _row_groups_for_split(
    split: str, start: int, step: int, shard_ids: Iterable[int] | None = None
) -> list[tuple[Path, int]]:
    """Every `step`-th parquet row group of a split from `start` on, as (shard path, row group index).

    `shard_ids` keeps only the shards of these numbers. Raises KitError where nothing is left for this rank.
    """
    if split not in SPLITS:
        raise KitError(f"split {split!r} does not exist; expected one of {', '.join(SPLITS)}")
    shards = sorted(_data(split).glob("shard_*.parquet"))
    if shard_ids is not None:
        wanted = sorted(set(shard_ids))
        missing = [i for i in wanted if not 0 <= i < len(shards)]
        if missing:
            raise KitError(f"split {split} has {len(shards)} shards; shard_ids asks for {missing}")
        shards = [shards[i] for i in wanted]
    groups = [(shard, i) for shard in shards for i in range(pq.read_metadata(shard).num_row_groups)]
    mine = groups[start::step]
    if not mine:
        raise KitError(f"split {split} has {len(groups)} row groups: none for rank {start} of {step}")
    return mine


def _document_batches(
    split: str, start: int, step: int, tokenizer_batch_size: int = 128, shard_ids: Iterable[int] | None = None
) -> Iterator[tuple[list[str], int]]:
    """Endless (documents, epoch) over this rank's row groups in order, at most `tokenizer_batch_size` at a time.

    The epoch counts from 1 and grows by one each time that the row groups start over.
    """
    groups = _row_groups_for_split(split, start, step, shard_ids)
    epoch = 1
    while True:
        for shard, index in groups:
            documents = pq.ParquetFile(shard).read_row_group(index).column("text").to_pylist()
            for first in range(0, len(documents), tokenizer_batch_size):
                yield documents[first : first + tokenizer_batch_size], epoch
        epoch += 1


def make_dataloader(
    tokenizer: Tokenizer,
    batch_size: int,
    seq_len: int,
    split: str,
    device: torch.device | str,
    tokenizer_threads: int = 4,
    tokenizer_batch_size: int = 128,
    shard_ids: Iterable[int] | None = None,
) -> Iterator[tuple[torch.Tensor, torch.Tensor, dict[str, int]]]:
    """Endless (inputs int32 [B, T], targets int64 [B, T], {"epoch": n}) on `device`; the next reuses the tensors.

    Rows of T + 1 tokens hold whole documents, each opened by BOS: the largest buffered one that fits, again and again;
    where none fits, the shortest is cropped to fill the row. Nothing is padded. Ranks read different row groups.
    """
    _, rank, _, world_size = get_dist_info()
    documents = _document_batches(split, rank, world_size, tokenizer_batch_size, shard_ids)
    bos = tokenizer.get_bos_token_id()
    buffer: list[list[int]] = []
    epoch = 1
    rows = torch.empty(batch_size, seq_len + 1, dtype=torch.int64)
    inputs = torch.empty(batch_size, seq_len, dtype=torch.int32, device=device)
    targets = torch.empty(batch_size, seq_len, dtype=torch.int64, device=device)

    def next_document(room: int) -> list[int]:
        nonlocal epoch
        while len(buffer) < PACKING_BUFFER_DOCUMENTS:
            texts, epoch = next(documents)
            buffer.extend(tokenizer.encode(texts, prepend=bos, num_threads=tokenizer_threads))
        best, best_length, shortest, shortest_length = -1, 0, 0, len(buffer[0])
        for index, tokens in enumerate(buffer):
            length = len(tokens)
            if best_length < length <= room:
                best, best_length = index, length
            if length < shortest_length:
                shortest, shortest_length = index, length
        return buffer.pop(best) if best >= 0 else buffer.pop(shortest)[:room]

    while True:
        for row in range(batch_size):
            line: list[int] = []
            while len(line) <= seq_len:
                line += next_document(seq_len + 1 - len(line))
            rows[row] = torch.tensor(line, dtype=torch.int64)
        inputs.copy_(rows[:, :-1])
        targets.copy_(rows[:, 1:])
        yield inputs, targets, {"epoch": epoch}


# --- Scoring ---


def _evaluation_tokens(tokenizer: Tokenizer, split: str, rank: int, world_size: int, count: int) -> torch.Tensor:
    """The first `count` + 1 tokens (int64) of this rank's documents, joined into one stream, each opened by BOS."""
    bos = tokenizer.get_bos_token_id()
    stream: list[int] = []
    for texts, epoch in _document_batches(split, rank, world_size):
        if epoch > 1:
            raise KitError(
                f"split {split} holds {len(stream) - 1} targets for rank {rank} of {world_size}; "
                f"{count} were asked for; lower max_tokens"
            )
        for ids in tokenizer.encode(texts, prepend=bos):
            stream += ids
        if len(stream) > count:
            break
    return torch.tensor(stream[: count + 1], dtype=torch.int64)


@torch.no_grad()
def evaluate_bpb(
    model: torch.nn.Module,
    tokenizer: Tokenizer,
    batch_size: int,
    seq_len: int,
    device: torch.device | str,
    split: str = "public_val",
    max_tokens: int = EVAL_PUBLIC_TOKENS,
    timeout_seconds: float = EVAL_TIMEOUT_SECONDS,
) -> dict[str, Any]:
    """Bits per byte of `model` (int32 [B, T] -> logits [B, T, V]) over the first `max_tokens` targets of a split.

    Each rank takes ceil(max_tokens / world_size) targets of its own row groups, so the token set depends on the world
    size; the sums are added over the ranks. The stream is cut at stride `seq_len`, a last shorter row included.
    Cross entropy is fp32 per target, in nats; a target of 0 bytes counts in num_tokens, but in neither sum. The nats
    are summed without rounding. Returns val_bpb = total_nats / (ln 2 x num_bytes), num_tokens, num_bytes, total_nats,
    eval_seconds, eval_timeout and eval_over_timeout.
    """
    started = time.monotonic()
    is_ddp, rank, _, world_size = get_dist_info()
    if is_ddp and world_size > 1 and not dist.is_initialized():
        raise KitError(
            f"WORLD_SIZE is {world_size} but no process group exists, so the ranks' sums cannot be added; "
            "evaluate before it is destroyed, or in a process without RANK and WORLD_SIZE"
        )
    count = math.ceil(max_tokens / world_size)
    tokens = _evaluation_tokens(tokenizer, split, rank, world_size, count)
    token_bytes = get_token_bytes("cpu").to(torch.int64)
    nats: list[float] = []
    num_bytes = 0
    was_training = model.training
    model.eval()
    for inputs, targets in _rows(tokens, batch_size, seq_len):
        logits = model(inputs.to(device)).detach().to("cpu").float()
        losses = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="none")
        lengths = token_bytes[targets.flatten()]
        nats += losses[lengths > 0].tolist()
        num_bytes += int(lengths.sum())
    model.train(was_training)
    sums = torch.tensor([math.fsum(nats), num_bytes, count], dtype=torch.float64)
    if is_ddp and world_size > 1:
        sums = sums.to(device)
        dist.all_reduce(sums)
    total_nats, total_bytes, total_tokens = sums.tolist()
    seconds = time.monotonic() - started
    return {
        "val_bpb": total_nats / (math.log(2) * total_bytes),
        "num_tokens": int(total_tokens),
        "num_bytes": int(total_bytes),
        "total_nats": total_nats,
        "eval_seconds": seconds,
        "eval_timeout": timeout_seconds,
        "eval_over_timeout": seconds > timeout_seconds,
    }


def _rows(tokens: torch.Tensor, batch_size: int, seq_len: int) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """(inputs int32 [B, T], targets int64 [B, T]) of a stream cut at stride T; the last shorter row comes alone."""
    whole = (len(tokens) - 1) // seq_len
    inputs = tokens[: whole * seq_len].view(whole, seq_len).to(torch.int32)
    targets = tokens[1 : whole * seq_len + 1].view(whole, seq_len)
    for first in range(0, whole, batch_size):
        yield inputs[first : first + batch_size], targets[first : first + batch_size]
    if (len(tokens) - 1) % seq_len:
        rest = tokens[whole * seq_len :]
        yield rest[None, :-1].to(torch.int32), rest[None, 1:]


@torch.no_grad()
def causality_check(
    model: torch.nn.Module, tokenizer: Tokenizer, batch_size: int, seq_len: int, device: torch.device | str
) -> dict[str, Any]:
    """{"passed", "max_abs_diff"}: logits of a row's first half must not move when the tokens after it change."""
    tokens = _evaluation_tokens(tokenizer, "public_val", 0, 1, batch_size * seq_len)
    inputs = tokens[:-1].view(batch_size, seq_len).to(torch.int32)
    half = seq_len // 2
    changed = inputs.clone()
    changed[:, half:] = (changed[:, half:] + 1) % tokenizer.get_bos_token_id()
    before = model(inputs.to(device)).detach().to("cpu").float()[:, :half]
    after = model(changed.to(device)).detach().to("cpu").float()[:, :half]
    difference = float((before - after).abs().max())
    return {"passed": difference <= CAUSALITY_TOLERANCE, "max_abs_diff": difference}


# --- Building the data ---

TRAIN_PERMILLE, PUBLIC_PERMILLE = 740, 100  # the rest is private_val
LONGEST_DOCUMENT_CHARACTERS = 400
SHORTEST_DOCUMENT_CHARACTERS = 40
# Tests, and parts of the standard library that some installations leave out: without them the text is the same.
LEFT_OUT = {
    "antigravity",
    "distutils",
    "idlelib",
    "lib2to3",
    "pydoc_data",
    "test",
    "this",
    "tkinter",
    "turtle",
    "turtledemo",
}


def _documents() -> list[str]:
    """The text: topics of the language reference, and per top-level definition its docstrings; no text twice."""
    found = [piece for text in _topics().values() for piece in _pieces(text)]
    library = Path(sysconfig.get_paths()["stdlib"])
    for name in sorted(set(sys.stdlib_module_names) - LEFT_OUT):
        for path in _module_files(library, name):
            for text in _docstrings(ast.parse(path.read_bytes())):
                found += _pieces(text)
    unique = {" ".join(text.split()): text for text in reversed(found)}
    return [text for key, text in unique.items() if len(key) >= SHORTEST_DOCUMENT_CHARACTERS]


def _topics() -> dict[str, str]:
    """The topics by name, read from the source file: the assignment `topics = {...}`."""
    path = Path(sysconfig.get_paths()["stdlib"]) / "pydoc_data" / "topics.py"
    for statement in ast.parse(path.read_bytes()).body:
        if isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value is not None:
            topics: dict[str, str] = ast.literal_eval(statement.value)
            return dict(sorted(topics.items()))
    raise KitError(f"{path}: no assignment of the topics found; this Python lays them out in another way")


def _module_files(library: Path, name: str) -> list[Path]:
    """Source files of a standard-library module, tests left out; none for a built-in module."""
    single = library / f"{name}.py"
    if single.is_file():
        return [single]
    files = (library / name).rglob("*.py")
    return sorted(path for path in files if not {"test", "tests"} & set(path.relative_to(library).parts))


def _docstrings(tree: ast.Module) -> list[str]:
    """The module's docstring, then for each top-level definition its docstrings and those inside it, joined."""
    texts = [ast.get_docstring(tree) or ""]
    for statement in tree.body:
        if isinstance(statement, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            inner = [
                ast.get_docstring(node)
                for node in ast.walk(statement)
                if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
            ]
            texts.append("\n\n".join(text for text in inner if text))
    return texts


def _pieces(text: str) -> Iterator[str]:
    """The text cut at blank lines into documents of bounded length, so that row groups come out even."""
    piece = ""
    for paragraph in re.split(r"\n\s*\n", text.strip()):
        if piece and len(piece) + len(paragraph) > LONGEST_DOCUMENT_CHARACTERS:
            yield piece
            piece = ""
        piece += ("\n\n" if piece else "") + paragraph.rstrip()
    if piece:
        yield piece


def _split(documents: list[str]) -> dict[str, list[str]]:
    """Each document goes to the split that its own hash names; within a split the order is that of the hashes."""
    splits: dict[str, list[str]] = {split: [] for split in SPLITS}
    for digest, text in sorted((hashlib.sha256(text.encode()).hexdigest(), text) for text in documents):
        permille = int(digest[:8], 16) * 1000 >> 32
        if permille < TRAIN_PERMILLE:
            splits["train"].append(text)
        elif permille < TRAIN_PERMILLE + PUBLIC_PERMILLE:
            splits["public_val"].append(text)
        else:
            splits["private_val"].append(text)
    return {
        split: sorted(texts, key=lambda text: hashlib.sha256(b"order" + text.encode()).digest())
        for split, texts in splits.items()
    }


def _write_shards(directory: Path, texts: list[str], shards: int, keep: int) -> None:
    """Spread documents over row groups of about equal bytes, and write the first `keep` of `shards` parquet files."""
    groups: list[list[str]] = [[] for _ in range(shards * ROW_GROUPS_PER_SHARD)]
    sizes = [0] * len(groups)
    for text in texts:
        smallest = sizes.index(min(sizes))
        groups[smallest].append(text)
        sizes[smallest] += len(text.encode())
    if not all(groups):
        raise KitError(f"{directory.name}: {len(texts)} documents for {len(groups)} row groups; the text is too short")
    directory.mkdir()
    schema = pa.schema([("text", pa.string())])
    for shard in range(keep):
        with pq.ParquetWriter(directory / f"shard_{shard:05d}.parquet", schema, compression="zstd") as writer:
            for group in groups[shard * ROW_GROUPS_PER_SHARD : (shard + 1) * ROW_GROUPS_PER_SHARD]:
                writer.write_table(pa.table({"text": group}, schema=schema), row_group_size=len(group))


def _train_tokenizer(texts: list[str]) -> tokenizers.Tokenizer:
    """Byte-level BPE on the train split; special tokens are no part of it, so text can never spell one."""
    ordinary = TOKENIZER_VOCAB_SIZE - len(SPECIAL_TOKENS)
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=ordinary,
        initial_alphabet=sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    if tokenizer.get_vocab_size() != ordinary:
        raise KitError(f"the text gives {tokenizer.get_vocab_size()} tokens; {ordinary} were expected")
    return tokenizer


def _byte_table(tokenizer: tokenizers.Tokenizer) -> np.ndarray[Any, Any]:
    """int32 [TOKENIZER_VOCAB_SIZE]: a byte-level token is written with one character for each of its bytes."""
    table = np.zeros(TOKENIZER_VOCAB_SIZE, dtype=np.int32)
    for token, index in tokenizer.get_vocab().items():
        table[index] = len(token)
    return table


def _versions() -> dict[str, str]:
    """What the data's bytes depend on beside this file."""
    return {"python": platform.python_version(), "pyarrow": pa.__version__, "tokenizers": tokenizers.__version__}


def _build(directory: Path, num_train_shards: int) -> None:
    """Build all data in an empty directory; kit.json comes last."""
    splits = _split(_documents())
    for split, texts in splits.items():
        train = split == "train"
        _write_shards(directory / split, texts, TRAIN_SHARDS if train else 1, num_train_shards if train else 1)
    tokenizer = _train_tokenizer(splits["train"])
    tokenizer.save(str(directory / "tokenizer.json"))
    table = _byte_table(tokenizer)
    np.save(directory / "token_bytes.npy", table)
    totals = {}
    for split, texts in splits.items():
        ids = Tokenizer(tokenizer).encode(texts)
        size = sum(len(text.encode()) for text in texts)
        counted = int(sum(table[document].sum() for document in ids))
        if counted != size:
            raise KitError(f"{split}: the byte table adds up to {counted} bytes, the text has {size}")
        totals[split] = {"documents": len(texts), "bytes": size, "tokens": sum(map(len, ids)) + len(ids)}
    files = sorted(path for path in directory.rglob("*") if path.is_file())
    record = {
        "kit": "stand-in",
        "num_train_shards": num_train_shards,
        "versions": _versions(),
        "totals": totals,  # over all train shards; tokens include one BOS for each document
        "sha256": {p.relative_to(directory).as_posix(): hashlib.sha256(p.read_bytes()).hexdigest() for p in files},
    }
    (directory / "kit.json").write_text(json.dumps(record, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def _complete(directory: Path, num_train_shards: int) -> bool:
    """True where the directory holds this data, whole; KitError where it holds something else."""
    record_path = directory / "kit.json"
    if not record_path.is_file():
        if directory.is_dir() and any(directory.iterdir()):
            raise KitError(f"{directory} is not empty and holds no kit.json; name an empty or absent directory")
        return False
    record = json.loads(record_path.read_text(encoding="utf-8"))
    if record["num_train_shards"] != num_train_shards or record["versions"] != _versions():
        raise KitError(
            f"{record_path}: built with {record['num_train_shards']} train shards under {record['versions']}; "
            f"wanted {num_train_shards} under {_versions()}; remove the directory or name another one"
        )
    for name, digest in record["sha256"].items():
        path = directory / name
        found = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "no file"
        if found != digest:
            raise KitError(
                f"{path}: SHA-256 is {found}, kit.json says {digest}; remove {directory} and run setup again"
            )
    return True


def setup(num_train_shards: int = TRAIN_SHARDS) -> Path:
    """Build the data directory unless it is there, whole. Appears at once or not at all, also with two builders."""
    if not 1 <= num_train_shards <= TRAIN_SHARDS:
        raise KitError(f"{num_train_shards} train shards: expected 1 to {TRAIN_SHARDS}")
    directory = _data_directory()
    if _complete(directory, num_train_shards):
        return directory
    directory.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=directory.parent, prefix=f".{directory.name}.") as temporary:
        built = Path(temporary) / "data"
        built.mkdir()
        _build(built, num_train_shards)
        try:
            built.rename(directory)
        except OSError:
            if not _complete(directory, num_train_shards):  # another builder was quicker, or the rename really failed
                raise
    return directory


def _data_directory() -> Path:
    value = os.environ.get("NEURON_COMPETITION_R1_CACHE_DIR")
    if not value:
        raise KitError("NEURON_COMPETITION_R1_CACHE_DIR is not set; it names the directory of tokenizer and shards")
    return Path(value)


def _data(name: str) -> Path:
    """A file or folder of the data directory."""
    path = _data_directory() / name
    if not path.exists():
        raise KitError(f"{path} does not exist; build the data with: python prepare.py setup")
    return path


# --- Command line ---


def _load_submission(path: Path) -> Any:
    """Import a train.py by path, under a name of the scorer's; what hides under `__main__` does not run."""
    spec = importlib.util.spec_from_file_location("scored_submission", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise KitError(f"{path}: no Python file to load")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if not hasattr(module, "load_for_eval"):
        raise KitError(f"{path}: no function load_for_eval(checkpoint_path, device)")
    return module


def _eval_public(arguments: argparse.Namespace) -> dict[str, Any]:
    if arguments.device == "neuron":
        importlib.import_module("torch_neuronx")  # registers the device
    device = torch.device(arguments.device)
    model = _load_submission(arguments.train_py).load_for_eval(str(arguments.checkpoint), device)
    return evaluate_bpb(
        model,
        ensure_tokenizer(),
        arguments.batch_size,
        arguments.seq_len,
        device,
        max_tokens=arguments.max_tokens,
    )


def main() -> None:
    """The command line: `setup` and `eval-public`."""
    parser = argparse.ArgumentParser(description="A small contest kit that runs anywhere.")
    commands = parser.add_subparsers(dest="command", required=True)
    build = commands.add_parser("setup", help="build tokenizer and shards, once")
    build.add_argument("--num-train-shards", type=int, default=TRAIN_SHARDS)
    score = commands.add_parser("eval-public", help="score a checkpoint on public_val and print JSON")
    score.add_argument("--train-py", type=Path, required=True)
    score.add_argument("--checkpoint", type=Path, required=True)
    score.add_argument("--seq-len", type=int, default=EVAL_SEQ_LEN)
    score.add_argument("--batch-size", type=int, default=EVAL_BATCH_SIZE)
    score.add_argument("--max-tokens", type=int, default=EVAL_PUBLIC_TOKENS)
    score.add_argument("--device", default="neuron" if importlib.util.find_spec("torch_neuronx") else "cpu")
    arguments = parser.parse_args()
    if arguments.command == "setup":
        print(f"data: {setup(arguments.num_train_shards)}")
    else:
        print(json.dumps(_eval_public(arguments)))


if __name__ == "__main__":
    try:
        main()
    except KitError as problem:
        sys.exit(f"prepare.py: {problem}")
