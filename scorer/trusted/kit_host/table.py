"""Which tokens a byte table counts otherwise than the text that they stand for.

A tokenizer need only encode: pieces of the documents whose bytes differ are encoded by themselves. A piece of one token
says what that token is worth; a piece of several that is still wrong then is cut down to the shortest text that is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

Json = dict[str, Any]
Array = np.ndarray[Any, Any]

PIECE = re.compile(r"\s*\S+|\s+")
MOST = 20


class Counted:
    """Texts by their bytes and by the table's, with what is known of single tokens put right."""

    def __init__(self, encode: Callable[[str], Array], table: Array) -> None:
        self.encode, self.table = encode, table.copy()
        self.given = table

    def ids(self, text: str) -> list[int]:
        """Token ids, without BOS."""
        return [int(token) for token in self.encode(text)]

    def off(self, text: str) -> int:
        """Bytes that the table counts too many (negative: too few)."""
        return int(self.table[self.ids(text)].sum()) - len(text.encode())

    def entry(self, text: str) -> Json:
        """What is said of a text."""
        ids = self.ids(text)
        return {"text": text, "ids": ids, "table": [int(self.given[i]) for i in ids], "bytes": len(text.encode())}


def explain(counted: Counted, documents: Iterable[str]) -> list[Json]:
    """Texts with their tokens whose bytes differ, at most MOST: {"text", "ids", "table" (each token's), "bytes"}."""
    pieces = list(dict.fromkeys(piece for document in documents for piece in PIECE.findall(document)))
    found = []
    several = []
    for piece in pieces:
        if not counted.off(piece):
            continue
        ids = counted.ids(piece)
        if len(ids) == 1:
            found.append(counted.entry(piece))
            counted.table[ids[0]] = len(piece.encode())
        else:
            several.append(piece)
    told: set[tuple[int, ...]] = set()
    for piece in several:
        if len(found) >= MOST:
            break
        if counted.off(piece):
            entry = counted.entry(shortest(piece, lambda text: counted.off(text) != 0))
            if tuple(entry["ids"]) not in told:
                told.add(tuple(entry["ids"]))
                found.append(entry)
    return found[:MOST]


def shortest(text: str, wrong: Callable[[str], bool]) -> str:
    """A part of the text that is still wrong, of which no shorter end is."""
    while len(text) > 1:
        half = len(text) // 2
        parts = (text[:half], text[half:], text[1:], text[:-1])
        smaller = next((part for part in parts if wrong(part)), None)
        if smaller is None:
            break
        text = smaller
    return text
