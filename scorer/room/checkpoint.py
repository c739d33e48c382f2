"""Reading the checkpoint that a lane left, without running anything that it holds, and whatever it holds."""

from __future__ import annotations

import pickle
import struct
import warnings
import zipfile
from pathlib import Path
from typing import Any

from scorer.contest import Files
from scorer.files import sha256_file
from scorer.room.observer.hashing import signature, tensor_hash
from scorer.room.receipts import Checkpoint

# What torch.load raises for files that are none of its own: the unpickler follows whatever the bytes say.
UNREADABLE = (
    pickle.UnpicklingError, zipfile.BadZipFile, struct.error, ArithmeticError, AssertionError, AttributeError, EOFError,
    ImportError, LookupError, MemoryError, OSError, RuntimeError, TypeError, ValueError,
)  # fmt: skip
MOST_UNFOLDED = 8  # times the file's size: tensors may share what is stored, yet not without end
MOST_ITEMS, MOST_DEPTH, MOST_LETTERS = 1000, 20, 1000  # of plain values that a receipt repeats


class CheckpointError(ValueError):
    """A checkpoint that cannot be read or used; the message says why."""


def read(path: Path) -> Any:
    """The checkpoint's content: plain values and dense CPU tensors. Raises CheckpointError."""
    import torch

    try:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                packed = [entry.filename for entry in archive.infolist() if entry.compress_type != zipfile.ZIP_STORED]
            if packed:
                raise ValueError(f"{_text(packed[0])} in it is compressed, which torch.save never does")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what torch advises its own callers says nothing to a user of this command
            return torch.load(path, map_location="cpu", weights_only=True)
    except UNREADABLE as error:
        raise CheckpointError(f"{type(error).__name__}: {_first_sentence(str(error))}") from error


def _first_sentence(words: str) -> str:
    """What went wrong, without torch's advice that follows it."""
    first_line = (words.splitlines() or [""])[0]
    return _text(first_line.partition(". ")[0].removesuffix("."))


def inspect(path: Path, told: str, files: Files) -> Checkpoint:
    """Describe the checkpoint at `path`, which the receipt tells as `told`; only plain values and tensors are read.

    Keys are those of the contest's `state_part`, or of the whole dict where it has none.
    """
    import torch

    sha256 = sha256_file(path)
    try:
        content = read(path)
        state = content.get(files.state_part, content) if isinstance(content, dict) else {}
        if not isinstance(state, dict):
            raise CheckpointError(f"its {files.state_part} is a {type(state).__name__}, expected a dict")
        tensors = {_text(str(key)): value for key, value in state.items() if isinstance(value, torch.Tensor)}
        _usable(tensors, path.stat().st_size)
    except CheckpointError as error:
        return Checkpoint(
            path=told, sha256=sha256, readable=False, problem=str(error), tensors={}, tensor_hashes={}, meta={}
        )
    meta = content.get(files.meta_part) if isinstance(content, dict) else None
    return Checkpoint(
        path=told,
        sha256=sha256,
        readable=True,
        problem=None if isinstance(content, dict) else f"it holds a {type(content).__name__}, expected a dict",
        tensors={key: signature([value]) for key, value in tensors.items()},
        tensor_hashes={key: tensor_hash(torch, value) for key, value in tensors.items()},
        meta=_plain(meta) if isinstance(meta, dict) else {},
    )


def _usable(tensors: dict[str, Any], size: int) -> None:
    """Raise CheckpointError for a tensor without plain bytes to compare, or for more bytes than the file can mean."""
    import torch

    unfolded = 0
    for key, tensor in tensors.items():
        kinds = {"nested": tensor.is_nested, "sparse": tensor.layout is not torch.strided}
        if not any(kinds.values()):
            kinds |= {"meta": tensor.is_meta, "quantized": tensor.is_quantized, "lazy conjugate": tensor.is_conj()}
        for kind, found in kinds.items():
            if found:
                raise CheckpointError(f"{key} is a {kind} tensor, expected a dense one")
        unfolded += tensor.numel() * tensor.element_size()
    if unfolded > MOST_UNFOLDED * size:
        raise CheckpointError(f"its tensors unfold to {unfolded} bytes, from a file of {size}")


def _plain(value: Any, depth: int = 0) -> Any:
    """A value that JSON can hold, cut where it is longer than a receipt has use for: small tensors become lists."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return _text(value)
    if depth < MOST_DEPTH and isinstance(value, dict):
        items = list(value.items())[:MOST_ITEMS]
        return {_text(str(key)): _plain(item, depth + 1) for key, item in items}
    if depth < MOST_DEPTH and isinstance(value, list | tuple):
        return [_plain(item, depth + 1) for item in value[:MOST_ITEMS]]
    try:
        return value.tolist() if value.numel() <= MOST_ITEMS else type(value).__name__
    except UNREADABLE:  # no tensor, or one that is no list of numbers
        return type(value).__name__


def _text(value: str) -> str:
    """Text that UTF-8 can hold."""
    return value[:MOST_LETTERS].encode(errors="backslashreplace").decode()
