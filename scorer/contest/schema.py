"""The fields of a contest profile, and what each of them may hold."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase
from typing import Annotated, Literal, NamedTuple, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticCustomError

Effect = Literal["numerics", "speed", "execution"]
Ruling = Literal["allow", "strip", "refuse"]
Weight = Literal["hard", "advice", "off"]
Dtype = Literal["bfloat16", "float16", "float32"]

Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Nothing = Annotated[float, Field(ge=0, allow_inf_nan=False)]  # a quantity that may be zero
Number = Annotated[float, Field(allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1)]
Index = Annotated[int, Field(ge=0)]
Text = Annotated[str, Field(min_length=1)]
Identifier = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
Variable = Annotated[str, Field(pattern=r"^[A-Za-z_*][A-Za-z0-9_*]*$")]  # a name, or a pattern with `*`
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Code = Annotated[str, Field(pattern=r"^[A-Z]{3}[0-9]{3}$")]  # of a finding: REV010
Confidence = Literal["stated", "seen", "inferred", "own"]  # "own": no fact of the contest, a setting of this project
Setting = Literal["split", "max_tokens", "seq_len", "batch_size", "world_size"]


def wrong(expected: str, remedy: str, found: str | None = None) -> PydanticCustomError:
    """A value that a field cannot hold. `found` where the message names less, or other, than the whole value."""
    return PydanticCustomError(
        "profile", "{expected}", {"expected": expected, "remedy": remedy, **({"found": found} if found else {})}
    )


def _below(path: str) -> str:
    if path.startswith("/") or "\0" in path or not {*path.split("/")}.isdisjoint({"", ".", ".."}):
        raise wrong("a relative path, with `/` between plain names", "write it as below the working directory")
    return path


def _ascending(ends: list[float]) -> list[float]:
    if ends[0] > ends[1]:
        raise wrong("[lowest, highest]", "write the lower number first")
    return ends


RelativePath = Annotated[str, AfterValidator(_below)]
Range = Annotated[list[Number], Field(min_length=2, max_length=2), AfterValidator(_ascending)]  # lowest and highest
Change = Annotated[list[int | str], Field(min_length=2, max_length=2)]  # a value before and after


class Section(BaseModel):
    """Base of every part of a profile: frozen, of exactly the types that are written, unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Budget(Section):
    """Clock rules, in seconds (contest.md, Clock)."""

    train_seconds: Seconds
    startup_allowance_seconds: Nothing  # start-up is free up to this; the excess is charged
    startup_updates_excluded: Index  # start-up ends with this many updates
    charged_until: Literal["process_end", "last_update"]  # where the charged clock stops
    reserve_seconds: Nothing  # less than this left of the budget is worth a warning
    slow_update_factor: Seconds  # an update of more than so many times the median is worth a word
    eval_timeout_seconds: Seconds
    run_timeout_seconds: Seconds  # the room kills a lane after this long


class Combination(NamedTuple):
    """One way of starting that scores: variables of the launch string, and the process count."""

    environment: dict[str, str]
    nproc_per_node: int


class LaunchRules(Section):
    """What a launch string may say; anything else is refused."""

    environment: dict[Identifier, Annotated[list[Text], Field(min_length=1)]]  # variable -> values allowed
    required_environment: list[Identifier]  # variables that must be given
    launcher: Annotated[list[Text], Field(min_length=1)]  # ["torchrun", "--standalone"]
    nproc_option: Text  # "--nproc_per_node": written before `=` and the process count
    nproc_per_node: Annotated[list[Count], Field(min_length=1)]
    full_chip: list[str]  # e.g. "NEURON_LOGICAL_NC_CONFIG=1 x 8": combinations that score; empty: all do
    script: Text  # "train.py"
    flags: bool  # True: words may follow the script

    @property
    def combinations(self) -> list[Combination]:
        """`full_chip`, read."""
        return [_combination(text) for text in self.full_chip]

    def world_size(self, command: str) -> int | None:
        """How many processes a launch string starts; None where it does not say."""
        words = command.split()
        for index, word in enumerate(words):
            option, _, value = word.partition("=")
            if option.replace("-", "_") == self.nproc_option.replace("-", "_"):
                value = value or (words[index + 1] if index + 1 < len(words) else "")
                return int(value) if value.isdecimal() else None
        return None

    def variables(self, command: str) -> dict[str, str]:
        """The variables that a launch string sets."""
        found: dict[str, str] = {}
        for word in command.split():
            name, equals, value = word.partition("=")
            if not equals or name not in self.environment:
                break
            found[name] = value
        return found

    def fills_chip(self, command: str) -> bool:
        """Whether a launch string is one of the combinations that use the whole chip, where the contest names any."""
        set_here, count = self.variables(command), self.world_size(command)
        return not self.full_chip or any(
            combination.environment.items() <= set_here.items() and combination.nproc_per_node == count
            for combination in self.combinations
        )

    @field_validator("required_environment")
    @classmethod
    def _known_variables(cls, names: list[str], info: ValidationInfo) -> list[str]:
        known = info.data.get("environment", {})
        return _each(names, lambda name: name in known, f"one of launch.environment: {', '.join(known) or 'none'}")

    @field_validator("full_chip")
    @classmethod
    def _readable(cls, combinations: list[str], info: ValidationInfo) -> list[str]:
        known, counts = info.data.get("environment", {}), info.data.get("nproc_per_node", [])

        def fits(text: str) -> bool:
            try:
                variables, count = _combination(text)
            except ValueError:
                return False
            return count in counts and all(value in known.get(name, []) for name, value in variables.items())

        return _each(combinations, fits, "NAME=VALUE... x COUNT, of the variables, values and counts above")


class EnvironmentPolicy(Section):
    """Environment variables, by name or by pattern with `*`; a name goes before a pattern, a longer pattern before a
    shorter one.
    """

    launcher_owned: list[Variable]  # RANK, WORLD_SIZE, ...: a submission may read them; the builder leaves them
    harness_owned: list[Variable]  # the kit reads them
    matters: dict[Variable, Effect]  # variable -> what it changes; compared between lanes
    policy: dict[Variable, Ruling]  # variable -> whether the submission may have it; "*" must be there
    cache_directories: dict[Identifier, RelativePath]  # variable -> where it points below a run's cache directory

    @field_validator("policy")
    @classmethod
    def _complete(cls, policy: dict[str, Ruling]) -> dict[str, Ruling]:
        if "*" not in policy:
            raise wrong("an entry '*', for all variables that no other names", "add '\"*\": refuse'", "none")
        return policy

    def effect(self, variable: str) -> Effect | None:
        """What a variable changes in a run; None where the profile knows of nothing."""
        pattern = _most_specific(variable, self.matters)
        return None if pattern is None else self.matters[pattern]

    def owner(self, variable: str) -> Literal["launcher", "harness"] | None:
        """Who sets a variable, where that is not the submission's author."""
        if any(fnmatchcase(variable, pattern) for pattern in self.launcher_owned):
            return "launcher"
        return "harness" if any(fnmatchcase(variable, pattern) for pattern in self.harness_owned) else None

    def ruling(self, variable: str) -> Ruling:
        """What holds for a variable. Those of launcher and harness are allowed.

        allow   the submission may read it
        strip   it is removed before the program starts: a read finds nothing, and is worth advice
        refuse  a launch that carries it, and a submission that reads it, are refused
        """
        if self.owner(variable) is not None:
            return "allow"
        return self.policy[_most_specific(variable, self.policy) or "*"]


class SubmittedFile(Section):
    """A file that may be uploaded: a name, or a pattern with `*` for optional ones."""

    name: RelativePath
    required: bool

    @model_validator(mode="after")
    def _named(self) -> Self:
        if self.required and "*" in self.name:
            raise wrong("a name without `*` for a required file", "name the file, or write `required: false`")
        return self


class Files(Section):
    """What may be uploaded and where a run may write."""

    submission: Annotated[list[SubmittedFile], Field(min_length=1)]
    size_limit_bytes: Count  # of each file of the submission: this many bytes or more are refused
    output_directory: RelativePath
    checkpoint: RelativePath
    checkpoint_parts: list[Text]  # keys of the checkpoint's dict
    state_part: Text  # the one that holds the weights
    meta_part: Text  # the one that says which run it is from
    meta_keys: list[Text]  # what that one says at least
    step_key: Text  # the one of them that says after how many updates it was saved

    @field_validator("state_part", "meta_part")
    @classmethod
    def _a_part(cls, part: str, info: ValidationInfo) -> str:
        known = info.data.get("checkpoint_parts", [part])
        return _each([part], lambda name: name in known, f"one of files.checkpoint_parts: {', '.join(known)}")[0]

    @field_validator("step_key")
    @classmethod
    def _a_meta_key(cls, key: str, info: ValidationInfo) -> str:
        known = info.data.get("meta_keys", [key])
        return _each([key], lambda name: name in known, f"one of files.meta_keys: {', '.join(known)}")[0]

    def allows(self, name: str) -> bool:
        """Whether a file of this name may be uploaded."""
        return any(fnmatchcase(name, file.name) for file in self.submission)


class Hook(Section):
    """A function that the submission must offer."""

    name: Identifier
    file: RelativePath  # the file of the submission that defines it
    parameters: list[Identifier]
    returns: Text | None  # full name of the class of what it returns, "torch.nn.Module"; null: the contest does not say


class Machine(Section):
    """What the scoring machine has."""

    title: Text
    versions: dict[Identifier, Text]  # of importable modules, where they are known
    python: Annotated[str, Field(pattern=r"^3\.\d+$")]  # "3.12": the grammar the artifact must parse under
    packages: list[Identifier]  # importable top-level modules, beside the standard library
    device: Text
    device_module: Identifier | None  # its import makes the device known to torch
    cores: Count | None  # physical cores of the device, all chips together; null: not known
    memory_bytes: Count | None  # of the device, all chips together


class EvaluationSettings(Section):
    """One way of measuring a checkpoint."""

    split: Text
    max_tokens: Count
    seq_len: Count
    batch_size: Count
    world_size: Count


class Purity(Section):
    """What the tests of a model's purity try."""

    tokens: Count  # of a test's batch
    length_factors: Annotated[list[Seconds], Field(min_length=1)]  # row lengths, as multiples of the official context
    batch_sizes: Annotated[list[Count], Field(min_length=1)]
    world_sizes: Annotated[list[Count], Field(min_length=1)]
    dtypes: dict[Text, Dtype]  # device -> what a model on it computes in
    scored_rows: Index  # rows of the scored ones that a second process is asked about, too
    growth_bytes: Count  # by which the model process may grow over equal batches


class Audit(Section):
    """Scores that are too good to be believed: they ask for an audit instead of passing (bpb)."""

    floor_bpb: Nothing  # below it nothing honest was seen
    reference_bpb: Number | None  # the best score known; null: none is
    gain_bpb: Nothing  # better than the reference by more than this


class ScorePart(Section):
    """A number that the contest ranks by, and its share of the whole."""

    name: Text
    weight: Annotated[float, Field(gt=0, le=1)]
    normalised: Literal["min-max"] | None  # over all entrants; null: as it is
    timeout_seconds: Seconds | None  # of its measurement, beside the evaluation's own


class AllowedOffset(Section):
    """How far a change of settings may move the score of one checkpoint."""

    name: Text
    change: Annotated[dict[Setting, Change], Field(min_length=1)]  # setting -> its value before and after
    bpb: Range
    mean: Number | None = None
    sd: Nothing | None = None


class EvaluationRules(Section):
    """The official settings, the public ones, and how far scores that should agree may be apart (bpb)."""

    hook: Identifier  # the hook that gives the model to be scored
    score: Annotated[list[ScorePart], Field(min_length=1)]
    public: EvaluationSettings
    official: EvaluationSettings
    agreement_bpb: Nothing
    cross_check: list[Literal["public", "official"]]  # settings under which the kit's own evaluate_bpb is called, too
    causality_rows: Count  # for the kit's causality_check
    purity: Purity
    audit: Audit
    allowed_offsets: list[AllowedOffset]


class Lockstep(Section):
    """The window in which lanes are compared bit for bit, on a virtual clock."""

    window_updates: Count
    census_update: Index
    virtual_seconds_per_update: Seconds


class ClockScript(Section):
    """What happens to time in one run of the clock trial, in seconds of the contest's clock; what is left out does not
    happen.
    """

    name: Text
    start_up_seconds: Seconds  # launch to the end of the last excluded update
    slower: Nothing = 0  # share by which the host is slower, in everything: 0.03
    compile_seconds: Nothing = 0  # within one update, in the middle of the charged time
    stall_seconds: Nothing = 0  # within another one, when three quarters of it are over
    save_seconds: Nothing = 0  # of every checkpoint written
    evaluation_seconds: Nothing = 0  # of every evaluation by the kit
    skew_updates: Nothing = 0  # every second rank's clock is so many updates ahead, after every second update


class ClockTrial(Section):
    """The contest's whole budget, replayed on a virtual clock."""

    updates: Count  # into which the budget is cut: the seconds that one takes follow
    unseen_seconds: Nothing  # launch to the program's first line
    exit_seconds: Nothing  # the program's last line to the end of the process
    save_seconds: Nothing  # of a checkpoint, where a script says nothing else
    scripts: Annotated[list[ClockScript], Field(min_length=1)]  # the first is the plan; names differ

    @field_validator("scripts")
    @classmethod
    def _named_once(cls, scripts: list[ClockScript]) -> list[ClockScript]:
        names = [script.name for script in scripts]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise wrong("scripts of different names", "rename one", ", ".join(twice))
        return scripts


class SpeedTrial(Section):
    """How recipe and artifact are raced, and which difference of their speed counts."""

    limit: Annotated[float, Field(gt=0, lt=1)]  # share of an update's time by which the artifact may be slower
    confidence: Annotated[float, Field(gt=0, lt=1)]  # of the interval
    measure: Literal["wall", "processor"]  # seconds that decide: on the wall, or of the processors
    together: bool  # whether both programs can run at the same time; on a device that one holds alone they cannot
    updates: Annotated[int, Field(ge=8)]  # timed ones of each program in a round
    rounds: Annotated[list[Annotated[int, Field(ge=2)]], Field(min_length=2, max_length=2), AfterValidator(_ascending)]
    # fewest and most; one round is one run of each
    seconds: Seconds  # no round is begun that would probably end later than this


class TrialGate(Section):
    """The short race before the full runs, and when it ends the trial."""

    updates: Count  # timed ones of each program, which take turns
    worse_nats: Nothing  # loss at equal steps, by which a program that is no faster may be worse


class TrialRules(Section):
    """How a program is tried against the one that it would replace, and what is made of the difference."""

    gate: TrialGate
    side_by_side: bool  # whether full runs run at the same time; else one after the other, in turns
    step_ratio: Range  # steps of the new one over the old one's; outside of it the comparison is confounded
    pairs: Annotated[int, Field(ge=2)]  # fewest that decide: seeds or hosts
    adopt_bpb: Number  # mean difference, at most, of pairs that agree in sign
    disagree_bpb: Nothing  # how far the pairs may be apart; beyond it the interval decides
    hold_bpb: Nothing  # a larger gain is held for an audit
    control_drift_bpb: Nothing  # the old program run again may be so far from its first run
    confidence: Annotated[float, Field(gt=0, lt=1)]  # of the intervals


class RoomLimits(Section):
    """What one run in the clean room may use; all ranks together, except where the kernel counts per process."""

    cpu_seconds: Count  # of each process
    memory_bytes: Count  # held by all processes and in the room's /tmp and /dev/shm; the most that one may ask for
    open_files: Count  # of each process
    processes: Count  # at once
    file_bytes: Count  # of each file
    disk_bytes: Count  # of all files


class KitFunctions(Section):
    """What the kit's functions are called, by what they do."""

    ranks: Identifier  # says which rank this is, and of how many
    tokenizer: Identifier
    token_bytes: Identifier
    documents: Identifier
    dataloader: Identifier
    evaluate: Identifier
    causality: Identifier
    step_boundary: Identifier


class KitCall(Section):
    """How a function of the kit is called: with the required arguments by position, and maybe some of the others."""

    required: list[Identifier]
    optional: list[Identifier]


class KitRules(Section):
    """What a kit must offer."""

    file: RelativePath  # "prepare.py": its name without the ending is the module that submissions import
    cache_variable: Identifier  # names the directory of the kit's data
    functions: KitFunctions
    setup: list[Text]  # arguments of the file that build the data
    eval_public: Annotated[list[Text], Field(min_length=1)]  # arguments that score a checkpoint; {seq_len}: its value
    symbols: list[Identifier]
    optional_symbols: list[Identifier]  # early kits lack them
    calls: dict[str, KitCall]  # function, or Class.method -> how it is called
    constants: dict[Identifier, int]  # constants whose literal value the kit must state, where it defines them
    vocab_size: Count
    bos_token_id: Index
    special_token_ids: list[Index]  # tokens of no bytes
    sha256: Digest | None  # of `file`; None: any, recorded in the receipt
    files: dict[RelativePath, Digest]  # other files beside it that must be there, by SHA-256
    train_split: Text
    model_files: list[Text]  # patterns: what a process that holds a submission's model may see of the kit's data
    stand_in: bool  # True: this contest's kit is scorer/standins/kit

    @field_validator("eval_public")
    @classmethod
    def _filled(cls, words: list[str]) -> list[str]:
        names = ("train_py", "checkpoint", "split", "max_tokens", "seq_len", "batch_size")
        known = {f"{{{name}}}" for name in names}
        expected = f"plain words, or one of {', '.join(sorted(known))}"
        return _each(words, lambda word: word in known or not {"{", "}"} & {*word}, expected)

    @property
    def module(self) -> str:
        """The module that submissions import."""
        return self.file.removesuffix(".py")


BudgetField = Literal["train_seconds", "startup_allowance_seconds", "eval_timeout_seconds"]


class LogRules(Section):
    """How the organiser's programs print: a line for each step, and a block of results at the end."""

    step: Text  # first word of a step's line, before its number
    separator: Text  # between the `key value` fields of a step's line
    results_after: Text  # the line behind which `key: value` results stand
    training: Text  # the result that is the program's own count of the seconds it trained, or ran
    charged: Text  # the one that is its own count of its charged seconds
    over_budget: Text  # the one that says whether that is over the budget, "True" or "False"


class ReviewRules(Section):
    """What the static rules need to know of the contest."""

    docstring_facts: dict[Text, Annotated[list[Text], Field(min_length=1)]]  # fact -> words of which one must be there
    training_data: Annotated[list[Text], Field(min_length=1)]  # splits that a submission may read
    validation_data: list[Text]  # splits that a submission must not name
    validation_files: list[Text]  # patterns of file names that hold validation data
    data_endings: list[Text]  # of the names of files that hold data: ".parquet"
    split_argument: dict[Identifier, Index]  # function of the kit -> place of the argument that names the split
    shard_argument: Identifier  # of those functions: names the shards to read
    conflicting_flags: dict[Identifier, list[Text]]  # variable -> compiler flags that it contradicts when it is 1
    training_shards: Count  # of a training split; numbers from 0
    rank_constants: list[Text]  # names of constants that mean the number of ranks
    launch_constants: dict[Identifier, list[Text]]  # variable of the launch -> names of constants that mean its value
    budget_constants: dict[BudgetField, list[Text]]  # field of `budget` -> names of constants that must not exceed it
    reserve_constants: list[Text]  # names of constants that mean the seconds kept for the end of the run
    core_variables: list[Identifier]  # variables that name the cores of the chip to use: "0-3"
    grid_variable: Identifier | None  # variable of the launch: how many cores one rank has, for a kernel's grid


class Fingerprint(Section):
    """Totals that a token set is known by: another byte count means other tokens."""

    split: Text
    max_tokens: Count
    world_size: Count
    num_bytes: Count


class Noise(Section):
    """How far runs of one file are apart, as standard deviations in bpb unless said otherwise."""

    same_file_sd: Nothing
    seed_sd: Range
    shuffle_sd: Nothing
    repeat_below: Nothing  # differences smaller than this need a second run
    bpb_per_percent_of_steps: Number
    step_count_sd: Range
    host_spread: Nothing  # share by which hosts differ in speed
    bad_path_share: Nothing  # share of seeds that take the worse path in the first updates
    bad_path_bpb: Range
    bad_path_updates: Index  # a change that touches earlier updates draws the path again


class Facts(Section):
    """What is known of the contest beside its contract: fingerprints, noise, habits of entrants."""

    uploads_per_week: Count
    fingerprints: list[Fingerprint]
    noise: Noise
    startup_margin_seconds: Range  # entrants count this much more start-up than they see
    startup_seen_seconds: dict[Text, Range]  # caches -> lowest and highest


class Profile(Section):
    """One contest's contract."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]*$")]
    version: Count
    title: Text
    budget: Budget
    launch: LaunchRules
    environment: EnvironmentPolicy
    files: Files
    hooks: list[Hook]
    machine: Machine
    evaluation: EvaluationRules
    lockstep: Lockstep
    clock_trial: ClockTrial
    speed_trial: SpeedTrial
    trial: TrialRules
    room: RoomLimits
    kit: KitRules
    log: LogRules
    review: ReviewRules
    rules: dict[Code, Weight]  # finding code -> its weight; codes not named keep their own severity
    facts: Facts | None = None
    confidence: dict[str, Confidence] = Field(default_factory=dict)  # by dotted field

    @property
    def scoring_hook(self) -> Hook:
        """The hook that gives the model to be scored."""
        return next(hook for hook in self.hooks_of(self.launch.script) if hook.name == self.evaluation.hook)

    def confidence_of(self, field: str) -> Confidence | None:
        """How a dotted field is known, by its own mark or by that of the nearest part around it."""
        while field not in self.confidence and "." in field:
            field = field.rpartition(".")[0]
        return self.confidence.get(field)

    def hooks_of(self, file: str) -> list[Hook]:
        """The hooks that a file of the submission must define."""
        return [hook for hook in self.hooks if hook.file == file]


def _each(values: list[str], good: Callable[[str], bool], expected: str) -> list[str]:
    """The values, when all are good; else an error that lists the ones that are not."""
    if bad := [value for value in values if not good(value)]:
        raise wrong(expected, "correct it, or add it there", ", ".join(map(repr, bad)))
    return values


def _combination(text: str) -> Combination:
    """Read `NAME=VALUE... x COUNT`; ValueError where it is written otherwise."""
    match = re.fullmatch(r"((?:[A-Za-z_][A-Za-z0-9_]*=\S+ )*)x ([1-9][0-9]*)", text)
    if match is None:
        raise ValueError(f"{text}: expected NAME=VALUE... x COUNT")
    variables = (word.partition("=") for word in match[1].split())
    return Combination({name: value for name, _, value in variables}, int(match[2]))


def _most_specific(variable: str, patterns: Iterable[str]) -> str | None:
    """The pattern that decides for a variable: its name before any pattern, a longer pattern before a shorter one."""
    matching = [pattern for pattern in patterns if fnmatchcase(variable, pattern)]
    return max(matching, key=lambda pattern: ("*" not in pattern, len(pattern)), default=None)
