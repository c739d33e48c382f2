"""What the scorer asks the observer for."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

VARIABLE = "SUBMISSION_PARITY_OBSERVE"


@dataclass(frozen=True)
class Settings:
    """Paths are absolute. `seconds_per_update` None means the real clock."""

    records: str  # directory for the ranks' journals
    root: str  # the program's root: places are told relative to it
    not_program: list[str]  # directories that hold no program code even if they lie below root (kit, stand-ins, ...)
    code: list[str]  # directories from which a rank may import; anything else comes from outside the room
    writable: list[str]  # directories that the program may write to
    work: str  # the working directory: written files are told relative to it
    stand_ins: str  # directory of the stand-in nki and torch_neuronx
    data: str  # the kit's data: every read of them is told
    kit: str  # directory of the contest's kit
    kit_module: str  # what programs import of it
    dataloader: str  # its function that yields batches
    step_boundary: str  # its function that is called after every step
    evaluate: str  # its function that evaluates a model
    seconds_per_update: float | None
    timeline: dict[str, Any] | None  # a scripted clock's receipts.Timeline
    window: int  # updates whose tensors are hashed
    census_update: int | None
    perturb: bool  # scale one parameter before the first optimizer step: the sensitivity control
    stop_after_window: bool
    deal_as: int | None  # batches are those that so many ranks would read (dealt.py); None: as the kit deals them
    keep_values: bool  # whether the parameters' values are kept after each update of the window (values.py)
    account: bool  # whether the stand-in nki accounts the kernels' launches (accounts.py)
    profiled: list[int]  # updates whose time is told call by call (flame.py)
    turns_from: int | None  # the first update that waits for its turn (turns.py); None: no turns are taken

    def write(self, path: Path) -> None:
        """Save for the ranks to read."""
        path.write_text(json.dumps(asdict(self)), encoding="utf-8")

    @classmethod
    def read(cls) -> Settings:
        """Read the file that the environment names."""
        return cls(**json.loads(Path(os.environ[VARIABLE]).read_text(encoding="utf-8")))
