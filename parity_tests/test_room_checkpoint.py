"""Whatever a checkpoint's file holds, looking at it gives a description or a problem, and never ends the judge."""

from __future__ import annotations

import io
import json
import random
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch

from parity_tests.trusted_samples import trained
from scorer.contest import load
from scorer.room import checkpoint
from scorer.room.receipts import Checkpoint
from scorer.trusted.checkpoint import pickled_classes

FILES = load("embedded").files


def saved(content: Any) -> bytes:
    buffer = io.BytesIO()
    torch.save(content, buffer)
    return buffer.getvalue()


def looked_at(directory: Path, content: bytes) -> Checkpoint:
    """The description of a file with this content, which must fit into a receipt."""
    path = directory / "final.pt"
    path.write_bytes(content)
    seen = checkpoint.inspect(path, "out/final.pt", FILES)
    pickled_classes(path)
    json.dumps(seen.model_dump(mode="json"), ensure_ascii=False).encode()
    return seen


def endless() -> dict[str, Any]:
    """A dict that holds itself."""
    content: dict[str, Any] = {}
    content["again"] = content
    return content


def deep(levels: int) -> bytes:
    """A saved checkpoint whose meta is nested this deep."""
    nested: list[Any] = []
    for _ in range(levels):
        nested = [nested]
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(50_000)
    try:
        return saved({"model_state": {"a": torch.ones(1)}, "meta": {"deep": nested}})
    finally:
        sys.setrecursionlimit(limit)


def state(tensor: torch.Tensor) -> dict[str, Any]:
    return {"model_state": {"a": tensor}, "model_config": {}, "meta": {}}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"model_state": [1, 2]}, "is a list"),
        ({"model_state": None}, "is a NoneType"),
        (state(torch.eye(3).to_sparse()), "a sparse tensor"),
        (state(torch.eye(3).to_sparse_csr()), "a sparse tensor"),
        (state(torch.empty(3, device="meta")), "a meta tensor"),
        (state(torch.ones(3, dtype=torch.complex64).conj()), "conjugate tensor"),
        (state(torch.zeros(1).expand(1 << 34)), "unfold to 68719476736 bytes"),
    ],
)
def test_tensors_that_cannot_be_compared_are_named(tmp_path: Path, content: Any, said: str) -> None:
    seen = looked_at(tmp_path, saved(content))
    assert not seen.readable
    assert said in str(seen.problem)


@pytest.mark.parametrize(
    "meta",
    [endless(), {"text": "\ud800", "\udfff": 1}, {"set": {1, 2}, "complex": 1j, "tensor": torch.ones(3)}],
    ids=["holds itself", "no text", "other kinds"],
)
def test_any_meta_fits_into_a_receipt(tmp_path: Path, meta: dict[str, Any]) -> None:
    assert looked_at(tmp_path, saved({**state(torch.ones(2)), "meta": meta})).readable


def test_a_meta_as_deep_as_it_likes_is_cut(tmp_path: Path) -> None:
    assert looked_at(tmp_path, deep(2000)).readable


def test_what_only_unpacks_to_its_size_is_not_unpacked(tmp_path: Path) -> None:
    whole = io.BytesIO(saved(state(torch.zeros(1 << 20))))
    small = io.BytesIO()
    with zipfile.ZipFile(whole) as stored, zipfile.ZipFile(small, "w", zipfile.ZIP_DEFLATED) as packed:
        for name in stored.namelist():
            packed.writestr(name, stored.read(name))
    assert len(small.getvalue()) < 1 << 16
    seen = looked_at(tmp_path, small.getvalue())
    assert "compressed" in str(seen.problem)


def test_damage_of_any_kind_is_a_problem_or_another_checkpoint(tmp_path: Path) -> None:
    whole = zipfile.ZipFile(io.BytesIO(saved(trained())))
    chance, unreadable = random.Random(7), 0
    for _ in range(150):
        damaged = io.BytesIO()
        with zipfile.ZipFile(damaged, "w") as archive:
            for name in whole.namelist():
                content = bytearray(whole.read(name))
                for _ in range(chance.choice((1, 1, 2, 5)) if name.endswith("data.pkl") else 0):
                    content[chance.randrange(len(content))] = chance.randrange(256)
                archive.writestr(name, bytes(content))
        unreadable += not looked_at(tmp_path, damaged.getvalue()).readable
    assert unreadable > 20
    for size in (0, 1, 100, 2000):
        assert not looked_at(tmp_path, saved(trained())[:size]).readable
    seen = looked_at(tmp_path, saved(trained()))
    assert (seen.readable, seen.problem) == (True, None)
