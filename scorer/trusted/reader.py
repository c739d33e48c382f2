"""Reads what a score needs out of the organiser's kit, in a process of its own: token streams, byte table, vocabulary.

Run as a script with the kit's directory on PYTHONPATH; it imports nothing of ours. The one JSON argument names the
output directory and the streams; NPY files and `kit.json` come out.

    {"out": DIR, "streams": [{"split", "rank", "world_size", "count"}, ...]}  ->  stream-0.npy ... (int32 [count + 1])

A stream is what `evaluate_bpb` scores: the documents of one rank's row groups, each opened by BOS, joined in order.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import prepare


def main(settings: dict[str, Any]) -> None:
    """Write every stream, the byte table and what the text itself says about the table."""
    out = Path(settings["out"])
    tokenizer = prepare.ensure_tokenizer()
    table = prepare.get_token_bytes("cpu").numpy().astype(np.int64)
    np.save(out / "token_bytes.npy", table)
    text_bytes = table_bytes = 0
    for index, wanted in enumerate(settings["streams"]):
        stream, texts, counted = read(tokenizer, table, **wanted)
        np.save(out / f"stream-{index}.npy", stream)
        text_bytes += texts
        table_bytes += counted
    facts = {
        "vocabulary": tokenizer.get_vocab_size(),
        "bos": tokenizer.get_bos_token_id(),
        "text_bytes": text_bytes,
        "table_bytes": table_bytes,
    }
    (out / "kit.json").write_text(json.dumps(facts), encoding="utf-8")


def read(
    tokenizer: Any, table: np.ndarray[Any, Any], split: str, rank: int, world_size: int, count: int
) -> tuple[np.ndarray[Any, Any], int, int]:
    """The first `count` + 1 tokens of a stream, and the bytes of its documents by their text and by the table."""
    bos = tokenizer.get_bos_token_id()
    parts: list[np.ndarray[Any, Any]] = []
    length = text_bytes = table_bytes = 0
    first: str | None = None
    for batch in prepare._document_batches(split, rank, world_size):
        documents = batch[0] if isinstance(batch, tuple) else batch
        if first is None:
            first = documents[0]
            opening = list(documents)
        elif list(documents) == opening:
            sys.exit(
                f"split {split} holds {length - 1} targets for rank {rank} of {world_size}, {count} were asked for: "
                "lower the profile's max_tokens"
            )
        for text, ids in zip(documents, tokenizer.encode(documents, prepend=bos), strict=True):
            array = np.asarray(ids, dtype=np.int32)
            parts.append(array)
            length += len(array)
            text_bytes += len(text.encode())
            table_bytes += int(table[array].sum())
        if length > count:
            break
    return np.concatenate(parts)[: count + 1], text_bytes, table_bytes


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
