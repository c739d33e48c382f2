"""Contest profiles: the one loader of `scorer/contests/*.yaml`. Contest facts live there, never in code.

    profile = load("embedded")            # by name, or a path to a YAML file

Errors name the file, the line, what was expected, what was found and what to do.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

CONTESTS = Path(__file__).parent / "contests"


class Section(BaseModel):
    """Base of every part of a profile: frozen, unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Budget(Section):
    """Clock rules, in seconds (contest.md, Clock)."""

    train_seconds: float
    startup_allowance_seconds: float
    startup_updates_excluded: int
    eval_timeout_seconds: float
    run_timeout_seconds: float  # the room kills a lane after this long


class LaunchRules(Section):
    """What a launch string may say; anything else is refused."""

    environment: dict[str, list[str]]  # variable -> values allowed
    launcher: list[str]  # ["torchrun", "--standalone"]
    nproc_per_node: list[int]
    full_chip: list[str]  # e.g. "NEURON_LOGICAL_NC_CONFIG=1 x 8": combinations that score; empty: all do
    script: str  # "train.py"


class EnvironmentPolicy(Section):
    """Environment variables, by name or pattern with `*`."""

    launcher_owned: list[str]  # RANK, WORLD_SIZE, ...: a submission may read them; the builder leaves them
    harness_owned: list[str]  # the kit reads them
    matters: dict[str, str]  # variable -> what it changes: numerics, speed or execution; compared between lanes


class Files(Section):
    """What may be uploaded and where a run may write."""

    size_limit_bytes: int
    output_directory: str
    checkpoint: str


class Hook(Section):
    """A function that the submission must offer."""

    name: str
    parameters: list[str]


class Machine(Section):
    """What the scoring machine has."""

    python: str  # "3.12": the grammar the artifact must parse under
    packages: list[str]  # importable top-level modules, beside the standard library
    device: str


class EvaluationSettings(Section):
    """One way of measuring a checkpoint."""

    split: str
    max_tokens: int
    seq_len: int
    batch_size: int
    world_size: int


class EvaluationRules(Section):
    """The official settings, the public ones, and how far scores that should agree may be apart (bpb)."""

    public: EvaluationSettings
    official: EvaluationSettings
    agreement_bpb: float
    purity_tokens: int


class Lockstep(Section):
    """The window in which lanes are compared bit for bit, on a virtual clock."""

    window_updates: int
    census_update: int
    virtual_seconds_per_update: float


class KitRules(Section):
    """What a kit must offer."""

    symbols: list[str]
    optional_symbols: list[str]
    sha256: str | None  # of prepare.py; None: any, recorded in the receipt
    stand_in: bool  # True: this contest's kit is scorer/standins/kit


class Profile(Section):
    """One contest's contract."""

    name: str
    version: int
    title: str
    budget: Budget
    launch: LaunchRules
    environment: EnvironmentPolicy
    files: Files
    hooks: list[Hook]
    machine: Machine
    evaluation: EvaluationRules
    lockstep: Lockstep
    kit: KitRules
    rules: dict[str, str]  # finding code -> "hard", "advice" or "off"; codes not named keep their own severity
    confidence: dict[str, str] = Field(default_factory=dict)  # dotted field -> "stated", "seen" or "inferred"


class ProfileError(ValueError):
    """A profile that cannot be used."""


def load(name_or_path: str | Path) -> Profile:
    """Load a profile by name (`scorer/contests/NAME.yaml`) or by path."""
    path = Path(name_or_path)
    if not path.suffix:
        path = CONTESTS / f"{name_or_path}.yaml"
    if not path.is_file():
        known = ", ".join(sorted(p.stem for p in CONTESTS.glob("*.yaml")))
        raise ProfileError(f"{path}: no such contest profile; known ones: {known}")
    try:
        document: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
        return Profile.model_validate(document)
    except yaml.YAMLError as error:
        raise ProfileError(f"{path}: not YAML: {error}") from error
    except ValidationError as error:
        raise ProfileError(f"{path}: {error}") from error
