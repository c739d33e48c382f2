"""The receipt: the JSON record that one lane leaves. Everything the comparison knows comes from receipts.

One schema serves every lane; what a lane has no use for stays empty. Floats that are compared bit for bit are written
as `float.hex()` strings, so that JSON cannot round them. `scorer schema` prints the JSON schema.
"""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

SCHEMA_VERSION = 1


class Record(BaseModel):
    """Base of every part of a receipt: unknown fields are errors."""

    model_config = ConfigDict(extra="forbid")


class Lane(StrEnum):
    """Which run a receipt records."""

    LOCAL = "local"
    ARTIFACT = "artifact"
    TRUSTED = "trusted"
    CONTROL = "control"
    REHEARSAL = "rehearsal"


class Outcome(StrEnum):
    """How the run ended."""

    COMPLETE = "complete"
    FAILED = "failed"
    TIMED_OUT = "timed out"


class Site(Record):
    """A line of the observed program: a path relative to the program's root, and a line number from 1."""

    file: str
    line: int


class Subject(Record):
    """What was run. Paths are relative to `root`, which is itself not recorded."""

    kind: str  # "recipe" (a source tree) or "file" (one train.py)
    sha256: str  # of the file, or of the tree (sorted relative paths and contents)
    manifest_sha256: str | None = None
    others: dict[str, str] = Field(default_factory=dict)  # SHA-256 of the submission's other files, by name


class Kit(Record):
    """The organiser's files that the run used, or the stand-in for them."""

    stand_in: bool
    prepare_sha256: str
    data_sha256: dict[str, str]  # shard or tokenizer file name -> SHA-256
    files: dict[str, str] = Field(default_factory=dict)  # every file beside prepare.py, itself included -> SHA-256


class Launch(Record):
    """The launch string and what it parses to."""

    text: str
    environment: dict[str, str]
    nproc_per_node: int
    program: list[str]  # ["train.py", "--flag", ...] or ["-m", "recipe", ...]


class Timeline(Record):
    """What happens on a scripted virtual clock beside the fixed time per update. All in seconds of that clock."""

    name: str
    before_seconds: float = 0.0  # gone when the program's first line runs
    lengths: list[tuple[int, float]] = Field(default_factory=list)  # (update, its seconds instead of the fixed ones)
    save_seconds: float = 0.0  # pass in every torch.save to a file
    evaluation_seconds: float = 0.0  # pass in every evaluation by the kit
    skew_seconds: float = 0.0  # every second rank's clock is so much ahead, after every second update
    limit_seconds: float | None = None  # the run is ended after the update in which this much is gone


class Clock(Record):
    """Which clock the program saw: "real", or "virtual" with a fixed time per update (seconds), scripted or not."""

    kind: str
    seconds_per_update: float | None = None
    timeline: Timeline | None = None


class Tick(Record):
    """An update's end on a scripted clock."""

    update: int  # from 0
    seconds: float  # since the launch
    reads: list[Site]  # lines that read the clock since the tick before, in the order of their last read


class ScriptedTime(Record):
    """What one rank's scripted clock showed."""

    ticks: list[Tick]
    end_seconds: float | None  # at the process's end; None where it did not end by itself
    last_reads: list[Site]  # lines that read the clock between the last update and the first save after it


class KernelLaunch(Record):
    """Launches of one kernel within one update, forward and backward together."""

    kernel: str  # the function's name
    count: int
    aside: int = 0  # how many of them within a backward pass, or from the first optimizer's step on
    shapes: list[str]  # distinct argument signatures, e.g. "bfloat16[2048,64] float32[64]", sorted
    site: Site | None  # where the kernel is defined


class OperatorCall(Record):
    """One row of the operator census of one update."""

    operator: str  # "aten::mm"
    signature: str  # "bfloat16[64,64] bfloat16[64,64]"
    count: int
    site: Site | None  # innermost frame of the observed program, first call; in backward that of the forward's call
    first: int = 0  # place in the order of first calls, from 0


class CallKind(Record):
    """An operator, or an instruction of a kernel ("nki.isa::activation"), as one line of the program calls it."""

    operator: str
    signature: str
    site: Site | None


class Calls(Record):
    """Every call of one update in its order; of the first update, what came before it too."""

    update: int
    kinds: list[CallKind]
    calls: list[str]  # "12 9f86d081": number of the kind, hash of what was computed (left out where nothing was)


class FirstUse(Record):
    """The first use in a process of something that is compiled for it: it takes a compiler's time where it happens."""

    what: Literal["kernel", "graph", "batch"]  # a kernel; what torch.compile compiled; a batch of the kit's loader
    name: str
    signature: str  # what it was specialized for: "bfloat16[64,64] eps=1e-06"
    update: int  # in whose time it happened; after the last one: the number of updates
    site: Site | None  # innermost line of the program
    callers: list[Site] = Field(default_factory=list)  # the program's lines that led there, innermost first


class Aside(Record):
    """Real seconds that one save or evaluation took of an update's time."""

    what: Literal["save", "evaluation"]
    update: int  # in whose time it happened; after the last one: the number of updates
    seconds: float


class LineTime(Record):
    """Where the time of one update went: one operator as one line calls it, and the program's own time before that."""

    site: Site | None  # innermost frame of the observed program; None in backward
    operator: str  # "" stands for the end of the update, after the last operator; `site` is then the line that ends it
    count: int
    seconds: float  # within the operator, all calls together
    before_seconds: float  # from the end of the operator before it


class Update(Record):
    """One optimizer update, as one rank saw it. Hashes are present inside the lockstep window only."""

    update: int  # from 0
    losses: list[str]  # float.hex() of each micro-batch's loss, in order
    seconds: float  # real seconds since the previous update's end
    launches: list[KernelLaunch] = Field(default_factory=list)
    batch_hashes: list[str] = Field(default_factory=list)  # each batch the kit's loader yielded since the last update
    gradient_hashes: dict[str, str] = Field(default_factory=dict)  # parameter name -> hash, at the optimizer's step
    parameter_hashes: dict[str, str] = Field(default_factory=dict)  # parameter name -> hash, after the update
    groups: dict[str, dict[str, Any]] = Field(default_factory=dict)  # "Muon.0" -> that group's values, floats in hex


class Parameter(Record):
    """One parameter of the trained model."""

    name: str
    shape: list[int]
    dtype: str
    device: str
    trainable: bool = True
    initial_hash: str | None = None  # before the first optimizer step, where there is a lockstep window


class Optimized(Record):
    """One parameter that an optimizer holds."""

    name: str
    group: int
    stepped: bool  # whether this rank's optimizer changed it within the lockstep window


class Optimizer(Record):
    """One optimizer of a rank, in the order of their first steps."""

    name: str  # the class's name, numbered from the second of a class on
    algorithm: str  # the class: "Muon" of the program's own, "torch.optim.adamw.AdamW" of a library's
    site: Site | None  # where the program defines its step
    parameters: list[Optimized]


class Event(Record):
    """Something the program did that the scorer wants to know of, with the line that did it."""

    kind: str  # "read", "write", "import", "read-environment", "set-environment", "save", "evaluate", "connect", ...
    detail: str  # path relative to the room, variable name, ...
    site: Site | None


class Rank(Record):
    """One process of the run, as the observer inside it saw it."""

    rank: int
    world_size: int
    python: str
    argv: list[str]
    environment_start: dict[str, str]
    environment_end: dict[str, str]
    packages: dict[str, str]
    neuron: str  # "stand-in", "sdk" or "absent": which nki and torch_neuronx the rank imported
    devices: list[str]  # device types of the model's parameters
    knobs: dict[str, Any]  # fields of frozen dataclasses and argparse namespaces the program held at its first update
    parameters: list[Parameter]
    updates: list[Update]
    asides: list[Aside] = Field(default_factory=list)
    first_uses: list[FirstUse] = Field(default_factory=list)  # in their order
    optimizers: list[Optimizer] = Field(default_factory=list)
    census_update: int | None  # the update that `census` counts
    census: list[OperatorCall]
    calls: list[Calls] = Field(default_factory=list)  # of the first updates, up to the one that `census` counts
    times: list[LineTime] = Field(default_factory=list)  # a speed trial's: medians of the counted updates
    events: list[Event]
    observer_seconds: float  # time spent inside the observer
    peak_bytes: int | None = None  # the most memory that the process held; None where the system does not tell
    scripted: ScriptedTime | None = None  # where the clock was a scripted one


class TimeSplit(Record):
    """Real seconds. start_up: launch to the end of the last excluded update; the parts add up to total."""

    start_up: float
    train: float
    tail: float  # last update's end to process end
    total: float
    # The same time by what it went into, cut finer (scorer.room.timing.PARTS): these add up to total, too, exactly.
    parts: dict[str, float] = Field(default_factory=dict)


class Checkpoint(Record):
    """The checkpoint a lane left. `readable` says that torch.load(weights_only=True) takes it."""

    path: str  # relative to the room
    sha256: str
    readable: bool
    problem: str | None  # why it is not readable
    tensors: dict[str, str]  # key -> "bfloat16[64,64]"
    tensor_hashes: dict[str, str]  # key -> hash of the tensor's bytes
    meta: dict[str, Any]


class Evaluation(Record):
    """One measurement of one model over one token set.

    `val_bpb` = total_nats / (ln 2 x num_bytes); nats and bpb are kept exact as float.hex().
    """

    name: str  # "recipe, in memory", "recipe, checkpoint", "trusted", "eval-public", ...
    split: str
    seq_len: int
    batch_size: int
    world_size: int
    device: str
    num_tokens: int
    num_bytes: int
    total_nats: str
    val_bpb: str
    seconds: float


class KitCheck(Record):
    """What a check of the kit's own said of the model: `max_abs_diff` is a float.hex()."""

    name: str
    batch_size: int
    seq_len: int
    passed: bool
    max_abs_diff: str
    seconds: float


class PurityTest(Record):
    """One trial of one purity test: what was changed, how far the logits moved, and how far they were allowed to."""

    test: str  # "causality", "batch size", ...
    trial: str  # "in a batch of 7"
    outcome: Literal["passed", "failed", "void", "not run"]  # void: the control, which must show, did not
    reason: str | None  # of anything but passed
    largest: float | None  # change seen; None where nothing was measured
    allowed: float | None
    unit: str  # of both: "logit", "bytes", "bpb"
    dtypes: list[str]  # that the model computes in, from which `allowed` follows
    code: str  # of the finding that a failure raises


class Receipt(Record):
    """All that one lane leaves."""

    schema_version: int = SCHEMA_VERSION
    scorer_version: str
    lane: Lane
    outcome: Outcome
    exit_code: int | None
    problem: str | None  # one line saying what went wrong, with the program's own last error
    problem_site: Site | None
    profile: str
    profile_version: int
    subject: Subject
    kit: Kit
    launch: Launch | None
    clock: Clock | None
    caches: str  # "cold" or "warm"
    network: str  # "none" where the kernel let the room cut it off, else "not isolated"
    protections: dict[str, str | None] = Field(default_factory=dict)  # of the room: None where it held, else why not
    ranks: list[Rank]
    time: TimeSplit | None
    checkpoint: Checkpoint | None
    evaluations: list[Evaluation]
    kit_checks: list[KitCheck] = Field(default_factory=list)
    summary: dict[str, str]  # the `key: value` block the program printed after `---`
    log_steps: list[dict[str, str]]  # the `step 00010 | loss ...` lines
    log_tail: list[str]  # last lines of output
    left_files: list[str]  # files found in the room afterwards, relative, outside the output directory
    left_processes: list[str]
    purity: list[PurityTest] = Field(default_factory=list)  # of the trusted lane, in the order of the trials
    purity_seconds: float | None = None  # what they took, scoring apart
    purity_seed: str | None = None  # hex: which scored rows were probed where; drawn for each scoring
    scoring_launches: dict[str, int] = Field(default_factory=dict)  # kernel -> launches while it was scored
    observed_findings: list[dict[str, Any]] = Field(default_factory=list)  # scorer.findings.Finding, raised by the room


class ReceiptError(ValueError):
    """A receipt that cannot be read; the message names the file, what was expected and what to do."""


def write(receipt: Receipt, path: Path) -> None:
    """Write a receipt atomically as sorted, indented JSON."""
    from scorer.files import write_atomic

    write_atomic(path, json.dumps(receipt.model_dump(mode="json"), indent=1, sort_keys=True, ensure_ascii=False) + "\n")


def read(path: Path) -> Receipt:
    """Read a receipt, or say what is wrong with it."""
    try:
        return Receipt.model_validate_json(path.read_bytes())
    except OSError as error:
        raise ReceiptError(f"{path}: cannot read the receipt: {error.strerror}; run the lane again") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "document"
        raise ReceiptError(
            f"{path}: not a receipt of schema {SCHEMA_VERSION}: {where}: {first['msg']}; run the lane again"
        ) from error
