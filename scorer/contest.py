"""Contest profiles: the one loader of `scorer/contests/*.yaml`. Contest facts live there, never in code.

    profile = load("embedded")            # by name, or a path to a YAML file

Errors name the file, the line, what was expected, what was found and what to do.
"""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

CONTESTS = Path(__file__).parent / "contests"


Effect = Literal["numerics", "speed", "execution"]


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
    required_environment: list[str]  # variables that must be given
    launcher: list[str]  # ["torchrun", "--standalone"]
    nproc_per_node: list[int]
    full_chip: list[str]  # e.g. "NEURON_LOGICAL_NC_CONFIG=1 x 8": combinations that score; empty: all do
    script: str  # "train.py"
    flags: bool  # True: words may follow the script


class EnvironmentPolicy(Section):
    """Environment variables, by name or by pattern with `*`; a name goes before a pattern, a longer pattern before a
    shorter one.
    """

    launcher_owned: list[str]  # RANK, WORLD_SIZE, ...: a submission may read them; the builder leaves them
    harness_owned: list[str]  # the kit reads them
    matters: dict[str, Effect]  # variable -> what it changes; compared between lanes

    def effect(self, variable: str) -> Effect | None:
        """What a variable changes in a run; None where the profile knows of nothing."""
        matching = [pattern for pattern in self.matters if fnmatchcase(variable, pattern)]
        return self.matters[max(matching, key=lambda pattern: ("*" not in pattern, len(pattern)))] if matching else None

    def owner(self, variable: str) -> Literal["launcher", "harness"] | None:
        """Who sets a variable, where that is not the submission's author."""
        if any(fnmatchcase(variable, pattern) for pattern in self.launcher_owned):
            return "launcher"
        return "harness" if any(fnmatchcase(variable, pattern) for pattern in self.harness_owned) else None


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

    title: str
    versions: dict[str, str]  # distribution -> version
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
    optional_symbols: list[str]  # early kits lack them
    constants: dict[str, int]  # constants whose literal value the kit must state, where it defines them
    vocab_size: int
    bos_token_id: int
    sha256: str | None  # of prepare.py; None: any, recorded in the receipt
    stand_in: bool  # True: this contest's kit is scorer/standins/kit


class Fingerprint(Section):
    """Totals that a token set is known by: another byte count means other tokens."""

    split: str
    max_tokens: int
    world_size: int
    num_bytes: int


class KnownOffset(Section):
    """A difference in bpb that was measured between two ways of scoring the same checkpoint."""

    name: str
    bpb: list[float]  # lowest and highest seen, or the mean alone
    sd: float | None = None


class Noise(Section):
    """How far runs of one file are apart, as standard deviations in bpb unless said otherwise."""

    same_file_sd: float
    seed_sd: list[float]
    shuffle_sd: float
    repeat_below: float  # differences smaller than this need a second run
    bpb_per_percent_of_steps: float
    step_count_sd: list[float]
    host_spread: float  # share by which hosts differ in speed
    bad_path_share: float  # share of seeds that take the worse path in the first updates
    bad_path_bpb: list[float]
    bad_path_updates: int  # a change that touches earlier updates draws the path again


class Decisions(Section):
    """Rules by which a difference between two recipes is believed."""

    step_ratio: list[float]  # outside of it the comparison is confounded
    adopt_bpb: float  # mean over hosts that agree in sign
    hosts_disagree_bpb: float
    audit_bpb: float  # a gain beyond it is held for an audit
    control_drift_bpb: float  # a control that moves more quarantines its host


class Facts(Section):
    """What is known of the contest beside its contract: fingerprints, offsets, noise, habits of entrants."""

    uploads_per_week: int
    fingerprints: list[Fingerprint]
    offsets: list[KnownOffset]
    noise: Noise
    decisions: Decisions
    stop_reserve_seconds: list[float]  # entrants stop when less than a step and this is left
    startup_margin_seconds: list[float]  # they count this much more start-up than they see
    startup_seen_seconds: dict[str, list[float]]  # caches -> lowest and highest


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
    rules: dict[
        str, Literal["hard", "advice", "off"]
    ]  # finding code -> "hard", "advice" or "off"; codes not named keep their own severity
    facts: Facts | None = None
    confidence: dict[str, Literal["stated", "seen", "inferred"]] = Field(default_factory=dict)  # by dotted field


class ProfileError(ValueError):
    """A profile that cannot be used; the message lists every problem as `file:line: what is wrong`."""


def load(name_or_path: str | Path) -> Profile:
    """Load a profile by name (`scorer/contests/NAME.yaml`) or by path."""
    path = Path(name_or_path)
    if not path.suffix:
        path = CONTESTS / f"{name_or_path}.yaml"
    if not path.is_file():
        known = ", ".join(sorted(p.stem for p in CONTESTS.glob("*.yaml")))
        raise ProfileError(f"{path}: no such contest profile; known ones: {known}; or give a path that ends in .yaml")
    try:
        loader = yaml.SafeLoader(path.read_text(encoding="utf-8"))
        root = loader.get_single_node()
        document = None if root is None else loader.construct_document(root)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ProfileError(f"{path}:{line}: not YAML: {error.problem}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ProfileError(f"{path}: not YAML in UTF-8: {error}") from error
    if root is None:
        raise ProfileError(f"{path}:1: empty; expected a contest profile, such as {CONTESTS / 'embedded.yaml'}")
    repeated = list(_repeated_keys(root))
    if repeated:
        raise ProfileError("\n".join(f"{path}:{line}: key {key!r} is given twice; keep one" for key, line in repeated))
    try:
        profile = Profile.model_validate(document)
    except ValidationError as error:
        raise ProfileError("\n".join(f"{path}:{_describe(root, problem)}" for problem in error.errors())) from error
    for field in profile.confidence:
        if _node_at(root, tuple(field.split(".")))[1]:
            line = _node_at(root, ("confidence", field))[0].start_mark.line + 1
            raise ProfileError(f"{path}:{line}: confidence names {field!r}, which this profile does not have")
    return profile


def _repeated_keys(node: yaml.Node) -> Iterator[tuple[str, int]]:
    """(key, line) of every mapping key that an earlier one of the same mapping has already used."""
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            if key.value in seen:
                yield key.value, key.start_mark.line + 1
            seen.add(key.value)
            yield from _repeated_keys(value)
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _repeated_keys(item)


def _node_at(root: yaml.Node, path: tuple[int | str, ...]) -> tuple[yaml.Node, tuple[int | str, ...]]:
    """The deepest node on a path of keys and indices, and the rest of the path that the document lacks."""
    node = root
    for depth, step in enumerate(path):
        found: yaml.Node | None = None
        if isinstance(node, yaml.MappingNode):
            found = next((value for key, value in node.value if key.value == str(step)), None)
        elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
            found = node.value[step]
        if found is None:
            return node, path[depth:]
        node = found
    return node, ()


def _describe(root: yaml.Node, problem: ErrorDetails) -> str:
    """`line: dotted.field: what was expected and found`, for one of pydantic's problems."""
    node, _ = _node_at(root, problem["loc"])
    field = ".".join(map(str, problem["loc"])) or "document"
    line = node.start_mark.line + 1
    if problem["type"] == "missing":
        return f"{line}: {field} is missing; add it"
    if problem["type"] == "extra_forbidden":
        return f"{line}: {field} is not a field of a profile; remove it or correct its spelling"
    return f"{line}: {field}: {problem['msg'][0].lower()}{problem['msg'][1:]}; found {problem['input']!r}"
