"""Reading the checkpoint that a lane left, without running anything that it holds."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

from scorer.contest import Files
from scorer.files import sha256_file
from scorer.room.observer.hashing import signature, tensor_hash
from scorer.room.receipts import Checkpoint


def inspect(path: Path, told: str, files: Files) -> Checkpoint:
    """Describe the checkpoint at `path`, which the receipt tells as `told`; only plain values and tensors are read.

    Keys are those of the contest's `state_part`, or of the whole dict where it has none.
    """
    import torch

    sha256 = sha256_file(path)
    try:
        content: Any = torch.load(path, map_location="cpu", weights_only=True)
    except (pickle.UnpicklingError, RuntimeError, OSError, EOFError, ValueError, KeyError, AttributeError) as error:
        first_line = (str(error).splitlines() or [""])[0]
        problem = f"{type(error).__name__}: {first_line}"
        return Checkpoint(
            path=told, sha256=sha256, readable=False, problem=problem, tensors={}, tensor_hashes={}, meta={}
        )
    state = content.get(files.state_part, content) if isinstance(content, dict) else {}
    tensors = {str(key): value for key, value in state.items() if isinstance(value, torch.Tensor)}
    meta = content.get(files.meta_part) if isinstance(content, dict) else None
    return Checkpoint(
        path=told,
        sha256=sha256,
        readable=True,
        problem=None if isinstance(content, dict) else f"it holds a {type(content).__name__}, expected a dict",
        tensors={key: signature([value]) for key, value in tensors.items()},
        tensor_hashes={key: tensor_hash(torch, value) for key, value in tensors.items()},
        meta={str(key): _plain(value) for key, value in meta.items()} if isinstance(meta, dict) else {},
    )


def _plain(value: Any) -> Any:
    """A value that JSON can hold: tensors become lists."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    tolist = getattr(value, "tolist", None)
    return tolist() if tolist else type(value).__name__
