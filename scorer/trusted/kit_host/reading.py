"""Reads what a score is made of by the kit's own functions: token streams, byte table, vocabulary; and documents.

A stream is what `evaluate_bpb` scores: the documents of one rank's row groups, each opened by BOS, joined in order.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from .table import Counted, explain

Array = np.ndarray[Any, Any]
Json = dict[str, Any]

EXPLAINED_DOCUMENTS = 50  # of those whose bytes the table counts wrongly


@dataclass
class Text:
    """The documents that were read, by their own bytes and by the table's."""

    documents: int = 0
    text_bytes: int = 0
    table_bytes: int = 0
    differing: int = 0
    samples: list[str] = field(default_factory=list)


def read(kit: ModuleType, names: dict[str, str], out: str, streams: list[Json], constants: list[str]) -> Json:
    """Write stream-I.npy (int32 [count + 1], shorter where the split is) and token_bytes.npy; return what is known.

    `streams` are {"split", "rank", "world_size", "count"}; one that cannot be read has its problem in the answer.
    """
    tokenizer = getattr(kit, names["tokenizer"])()
    vocabulary, bos = int(tokenizer.get_vocab_size()), int(tokenizer.get_bos_token_id())
    table = np.asarray(getattr(kit, names["token_bytes"])("cpu")).astype(np.int64)
    if table.shape != (vocabulary,):
        raise ValueError(
            f"{names['token_bytes']} has shape {list(table.shape)}, the tokenizer's vocabulary is {vocabulary}"
        )
    np.save(Path(out) / "token_bytes.npy", table)
    documents = getattr(kit, names["documents"])
    text = Text()
    held: list[Json] = []
    for index, wanted in enumerate(streams):
        try:
            stream = join(documents, tokenizer, table, text, **wanted)
        except Exception as error:  # a split that this kit does not have; others may be there
            held.append({"tokens": 0, "problem": f"{type(error).__name__}: {error}"[:500]})
            continue
        np.save(Path(out) / f"stream-{index}.npy", stream)
        held.append({"tokens": max(0, len(stream) - 1), "problem": None})
    counted = Counted(lambda piece: encode(tokenizer, [piece], bos)[0][1:], table)
    wrong = explain(counted, text.samples)
    return {
        "vocabulary": vocabulary,
        "bos": bos,
        "held": held,
        "documents": text.documents,
        "text_bytes": text.text_bytes,
        "table_bytes": text.table_bytes,
        "differing": text.differing,
        "wrong": wrong,
        "constants": {name: value for name in constants if isinstance(value := getattr(kit, name, None), int | float)},
    }


def join(
    documents: Callable[..., Any],
    tokenizer: Any,
    table: Array,
    text: Text,
    split: str,
    rank: int,
    world_size: int,
    count: int,
) -> Array:
    """The first `count` + 1 tokens of a stream, or as many as there are; `text` is added to."""
    bos = int(tokenizer.get_bos_token_id())
    parts: list[Array] = []
    length = 0
    for batch in one_epoch(documents, split, rank, world_size):
        for document, ids in zip(batch, encode(tokenizer, batch, bos), strict=True):
            parts.append(ids)
            length += len(ids)
            size, counted = len(document.encode()), int(table[ids[1:]].sum())
            text.documents += 1
            text.text_bytes += size
            text.table_bytes += counted
            if size != counted:
                text.differing += 1
                if len(text.samples) < EXPLAINED_DOCUMENTS:
                    text.samples.append(document)
        if length > count:
            break
    return np.concatenate(parts)[: count + 1] if parts else np.empty(0, np.int32)


def encode(tokenizer: Any, texts: list[str], bos: int) -> list[Array]:
    """Token ids of each document, opened by BOS. Raises ValueError where the tokenizer does not put it there."""
    found = [np.asarray(ids, dtype=np.int32) for ids in tokenizer.encode(texts, prepend=bos)]
    for ids in found:
        if len(ids) == 0 or ids[0] != bos:
            raise ValueError(f"the tokenizer's encode(..., prepend={bos}) opens a document by {ids[:1].tolist()}")
    return found


def one_epoch(documents: Callable[..., Any], split: str, start: int, step: int) -> Iterator[list[str]]:
    """The documents of a rank's row groups, once: until the first batch comes again, or any two in a row do.

    A batch is a list of documents, or a tuple of such a list and what the kit says of its place.
    """
    opening: list[str] | None = None
    last, pairs = 0, set()
    for batch in documents(split, start, step):
        placed = isinstance(batch, tuple) and batch and not isinstance(batch[0], str)
        texts = list(batch[0] if placed else batch)
        pair = (last, last := hash(tuple(texts)))
        if texts == opening or pair in pairs:
            return
        opening = opening or texts
        pairs.add(pair)
        yield texts


def overlap(documents: Callable[..., Any], train: str, splits: Sequence[str], seconds: float) -> Json:
    """Documents of the train split that stand in one of the other splits too, up to white space."""
    deadline = time.monotonic() + seconds
    validation: dict[str, str] = {}
    for split in splits:
        for batch in one_epoch(documents, split, 0, 1):
            validation |= {" ".join(text.split()): split for text in batch}
    read, found, first = 0, 0, ""
    for batch in one_epoch(documents, train, 0, 1):
        for text in batch:
            read += 1
            key = " ".join(text.split())
            if key and key in validation:
                found += 1
                first = first or f"{validation[key]}: {key[:80]}"
        if time.monotonic() > deadline:
            raise TimeoutError(f"only {read} documents of {train} were read within {seconds:g} s")
    return {"documents": read, "validation": len(validation), "found": found, "first": first}
