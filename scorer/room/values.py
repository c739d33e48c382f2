"""The parameters' values that the observer kept (observer/values.py), read back."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np

START = "start"  # before the first optimizer step


def collect(records: Path, keep: Path) -> None:
    """Take the files out of the room."""
    for path in sorted(records.glob("values-*.bin")):
        shutil.copyfile(path, keep / path.name)


def read(keep: Path, update: int | None) -> dict[str, np.ndarray] | None:
    """Name -> float64 array after an update (None: before the first one). None where the file is missing or cut off."""
    path = keep / f"values-{START if update is None else update}.bin"
    if not path.is_file():
        return None
    head, _, body = path.read_bytes().partition(b"\n")
    shapes: dict[str, list[int]] = json.loads(head)
    numbers = np.frombuffer(body[: len(body) // 4 * 4], dtype="<f4").astype(np.float64)
    sizes = [int(np.prod(shape)) for shape in shapes.values()]
    if sum(sizes) != numbers.size:
        return None
    parts = np.split(numbers, np.cumsum(sizes)[:-1])
    return {name: part.reshape(shape) for (name, shape), part in zip(shapes.items(), parts, strict=True)}
