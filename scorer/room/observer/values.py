"""The parameters' values after updates, as files `values-UPDATE.bin` beside the journals: rank 0's, in float32.

A first line of JSON, name -> shape, then the numbers in that order. What reads them is scorer/room/values.py.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def keep(torch: Any, records: Path, update: str, parameters: Mapping[str, Any]) -> None:
    """Write one file. A full disk must not change what the program does: the file is then cut off."""
    if os.environ["RANK"] != "0":
        return
    shapes = {name: list(value.shape) for name, value in parameters.items()}
    head = json.dumps(shapes).encode() + b"\n"
    parts = [value.detach().cpu().float().contiguous().reshape(-1).numpy().tobytes() for value in parameters.values()]
    own = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    descriptor = os.open(records / f"values-{update}.bin", own, 0o644)
    try:
        with open(descriptor, "wb", closefd=False) as file:
            file.write(head + b"".join(parts))
    except OSError:
        pass
    finally:
        os.close(descriptor)
