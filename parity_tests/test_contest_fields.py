"""Every field of a contest profile is read by something: changed, it changes what is refused, found, given or told.

FIELDS has an entry for each field of the schema: another value, and a way of looking at what comes of a profile. No
entry trains anything.
"""

from __future__ import annotations

import copy
import functools
import io
import json
import tempfile
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any, get_args, get_origin

import pytest
from pydantic import BaseModel
from rich.console import Console

from parity_tests import contest_looks as looks
from parity_tests import receipts_factory
from parity_tests.receipts_factory import judged
from parity_tests.room_programs import small_kit
from scorer.artifact import Artifact, ArtifactError
from scorer.cli.progress import Progress
from scorer.cli.runs import Bench
from scorer.compare.trials import clock as clock_trial
from scorer.compare.trials import speed
from scorer.compare.trials.change import gate_course, judge_gate
from scorer.compare.trials.decision import Measured, decide
from scorer.contest import Profile, RoomLimits, load
from scorer.contest.consistency import contradictions
from scorer.ledger import week
from scorer.report.profile_table import print_profile
from scorer.review import review
from scorer.room import checkpoint, log, records, timing, variables
from scorer.room.cleanroom import Room
from scorer.room.lane import LaneSpec, _Run, run_lane
from scorer.room.launch import LaunchError, LaunchPlan, parse
from scorer.room.race import Course, Race
from scorer.room.receipts import Clock, Event, Lane, Receipt, ScriptedTime, Tick, TimeSplit
from scorer.room.turns import Taken
from scorer.trusted import settings as ways

See = Callable[[Profile], Any]
LAUNCH = "NEURON_LOGICAL_NC_CONFIG=2 torchrun --standalone --nproc_per_node=2 train.py"
SUBMISSION = '''"""Launch: torchrun. Budget: 60 seconds. load_for_eval returns the model."""
import torch


def load_for_eval(checkpoint_path, device) -> torch.nn.Module:
    return torch.load(checkpoint_path, map_location=device)
'''


def base() -> dict[str, Any]:
    """The embedded contest with one entry in each part that it leaves empty."""
    profile = load("embedded").model_dump()
    facts = load("trainium-frontier-phase1").model_dump()["facts"]
    public = profile["evaluation"]["public"]
    known = {"split": public["split"], "max_tokens": public["max_tokens"], "world_size": 1, "num_bytes": 1}
    profile["facts"] = {**facts, "fingerprints": [known]}
    change = {"split": ["public_val", "private_val"], "max_tokens": [4096, 8192]}
    offset = {"name": "private", "change": change, "bpb": [0.0, 0.1], "mean": 0.05, "sd": 0.01}  # it is 0.125
    profile["evaluation"]["allowed_offsets"] = [offset]
    profile["files"]["meta_keys"] = ["step", "seed"]
    profile["machine"]["cores"] = 8
    profile["evaluation"]["audit"]["reference_bpb"] = 2.63  # the score is 2.625
    profile["kit"]["symbols"].remove("record_step_boundary")
    profile["kit"]["calls"]["get_dist_info"]["optional"] = ["verbose"]
    profile["kit"]["optional_symbols"] = ["record_step_boundary"]
    return profile


def at(document: Any, path: str) -> tuple[Any, Any]:
    """The part of a document that holds a field, and its key there; `[]` is the first entry of a list or mapping."""
    *around, last = path.replace("[]", ".[]").split(".")
    for step in around:
        document = document[first(document) if step == "[]" else step]
    return document, first(document) if last == "[]" else last


def first(collection: Any) -> Any:
    return 0 if isinstance(collection, list) else next(iter(collection))


def changed(path: str, value: Any) -> Profile:
    """The base profile with one field changed; nothing asks whether the field goes with the others."""
    document = copy.deepcopy(base())
    part, key = at(document, path)
    part[key] = value(part[key]) if callable(value) else value
    return Profile.model_validate(document)


def fields(model: type[BaseModel] = Profile, path: str = "") -> Iterator[str]:
    """The paths of all fields that hold values, `[]` behind one that holds several parts."""
    for name, field in model.model_fields.items():
        parts, several = inner(field.annotation)
        if parts is None:
            yield f"{path}{name}"
        else:
            yield from fields(parts, f"{path}{name}{'[].' if several else '.'}")


def inner(annotation: Any) -> tuple[type[BaseModel] | None, bool]:
    """The part that a field's type mentions, and whether the field holds several of it."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation, False
    for argument in get_args(annotation):
        part, several = inner(argument)
        if part is not None:
            return part, several or get_origin(annotation) in (list, dict)
    return None, False


# --- Ways of looking at what comes of a profile ---


def told(profile: Profile) -> str:
    """The table that `scorer contest show` prints."""
    console = Console(file=io.StringIO(), width=200)
    print_profile(profile, console)
    return console.file.getvalue()  # type: ignore[attr-defined]


def launched(text: str) -> See:
    """What the launch grammar makes of a string."""

    def see(profile: Profile) -> Any:
        try:
            return parse(text, profile.launch)
        except LaunchError as error:
            return str(error)

    return see


def reviewed(source: str = SUBMISSION, launch: str = LAUNCH) -> See:
    """Findings of the static rules over a train.py."""

    def see(profile: Profile) -> Any:
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "train.py"
            path.write_text(source, "utf-8")
            found = review(Artifact.from_file(path, launch), profile)
        return [(one.code, one.severity, one.message) for one in found]

    return see


def compared(change: Callable[[dict[Lane, Receipt]], None] | None = None) -> See:
    """Findings of the comparison over receipts made by hand."""
    return lambda profile: [(one.code, one.message) for one in judged(change, profile=profile).findings]


def taken(name: str) -> See:
    """Whether a file beside train.py may be submitted."""

    def see(profile: Profile) -> Any:
        with tempfile.TemporaryDirectory() as directory:
            for file in ("train.py", name):
                (Path(directory) / file).write_text(SUBMISSION, "utf-8")
            artifact = Artifact.from_file(Path(directory) / "train.py", LAUNCH)
            try:
                return [other.member for other in artifact.with_others(profile, [Path(directory) / name]).others]
            except ArtifactError as error:
                return str(error).removeprefix(directory)

    return see


def prepared(profile: Profile) -> Any:
    """What a lane puts into its room: the files, the observer's settings, the command and the environment."""
    with tempfile.TemporaryDirectory() as directory, Room() as room:
        kit = small_kit(Path(directory) / "kit")
        train_py = Path(directory) / "train.py"
        train_py.write_text(SUBMISSION, "utf-8")
        plan = parsed(profile)
        artifact = Artifact.from_file(train_py, LAUNCH)
        spec = LaneSpec(Lane.ARTIFACT, plan, artifact, Clock(kind="virtual", seconds_per_update=0.5), {"KNOB": "1"})
        run = _Run(spec, profile, kit, Path(directory) / "keep", room)
        run._prepare()
        seen = [run._settings_file().read_text("utf-8"), run._command(), run._environment()]
        seen.append(sorted(path.name for path in room.work.iterdir()))
        return json.dumps(seen).replace(directory, "").replace(str(room.root), "")


def parsed(profile: Profile) -> LaunchPlan:
    """The plainest plan, by the profile's own option for the process count."""
    return LaunchPlan(LAUNCH, {}, ["torchrun"], 2, ["train.py"], profile.launch.nproc_option)


def timed(profile: Profile) -> Any:
    """How a lane splits the time of updates that ended at 1, 2, 3 ... seconds."""
    rank = receipts_factory.rank(0, Lane.ARTIFACT)
    journal = records.Journal(rank, 0.0, True, None, [float(second) for second in range(1, 9)])
    return timing.split(0.0, 10.0, [journal], profile.budget.startup_updates_excluded)


def ended(profile: Profile) -> Any:
    """How a lane of a program that sleeps for a second ends."""
    plan = LaunchPlan(LAUNCH, {}, ["bash", "-c", "sleep 1"], 1, ["train.py"])
    with tempfile.TemporaryDirectory() as directory:
        spec = LaneSpec(Lane.LOCAL, plan, Path(directory), Clock(kind="real"), observe=False)
        return run_lane(spec, profile, small_kit(Path(directory) / "kit"), Path(directory) / "keep").outcome


def read(name: str) -> See:
    """What is said when a submission reads a variable."""
    return lambda profile: [*variables.reads([Event(kind="read-environment", detail=name, site=None)], profile)]


def inspected(profile: Profile) -> Any:
    """What a checkpoint's receipt says of its weights and of its run."""
    import torch

    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "final.pt"
        torch.save({"model_state": {"w": torch.ones(1)}, "other": {"v": torch.ones(2)}, "meta": {"step": 1}}, path)
        found = checkpoint.inspect(path, "final.pt", profile.files)
        return found.tensors, found.meta


def clocked(start_up: float = 30.0, train: float = 59.0, tail: float = 0.5) -> Callable[[dict[Lane, Receipt]], None]:
    """Every lane on the real clock."""

    def change(lanes: dict[Lane, Receipt]) -> None:
        for receipt in lanes.values():
            receipt.clock = Clock(kind="real") if receipt.clock else None
        total = start_up + train + tail
        lanes[Lane.ARTIFACT].time = TimeSplit(start_up=start_up, train=train, tail=tail, total=total)

    return change


def counted(lanes: dict[Lane, Receipt]) -> None:
    """A run over the budget that says it is within."""
    clocked(train=64.0)(lanes)
    time = lanes[Lane.ARTIFACT].time
    assert time is not None
    time.parts = {"exit": 0.5}
    lanes[Lane.ARTIFACT].summary = {"charged_seconds_est": "64.5", "over_budget": "False", "training_seconds": "9"}


def stale(lanes: dict[Lane, Receipt]) -> None:
    """A checkpoint of an update in the middle of the run."""
    made = lanes[Lane.ARTIFACT].checkpoint
    assert made is not None
    made.meta["step"] = 3


def slowed(lanes: dict[Lane, Receipt]) -> None:
    """One update of twice the others' length on the real clock."""
    clocked()(lanes)
    updates = lanes[Lane.ARTIFACT].ranks[0].updates
    updates += [updates[-1].model_copy(update={"update": number}) for number in range(len(updates), 20)]
    updates[-1].seconds *= 2


def exported(lanes: dict[Lane, Receipt]) -> None:
    """A compiler flag that only the local run had, beside others."""
    for rank in lanes[Lane.LOCAL].ranks:
        rank.environment_start |= {"NEURON_CC_FLAGS": "-O1", "MASTER_PORT": "1"}
        rank.environment_end |= {"NEURON_CC_FLAGS": "-O1", "MASTER_PORT": "1"}
        rank.events.append(Event(kind="read-environment", detail="MASTER_PORT", site=None))


def rounded(lanes: dict[Lane, Receipt]) -> None:
    """A checkpoint that scores a little otherwise than the model in memory."""
    summary = lanes[Lane.LOCAL].summary
    summary["memory_total_nats"] = repr(float(summary["memory_total_nats"]) * 1.001)


def logged(profile: Profile) -> Any:
    """What is read out of a program's output."""
    lines = ["step 00001 | loss 3.1 | tok/s 1,234", "---", "num_steps: 1"]
    return log.steps(lines, profile.log), log.summary(lines, profile.log)


def wanted(profile: Profile) -> Any:
    return ways.wanted(profile, None)


def contradicted(profile: Profile) -> Any:
    return [*contradictions(profile)]


def virtual(profile: Profile) -> Any:
    with tempfile.TemporaryDirectory() as directory:
        progress = Progress(Console(file=io.StringIO()))
        return Bench(profile, small_kit(Path(directory)), Path(), progress).virtual_clock


def scripted(profile: Profile) -> Any:
    """The clocks of the clock trial, and what its second script's run is measured as."""
    run = receipts_factory.receipt(Lane.ARTIFACT)
    ticks = [Tick(update=update, seconds=float(update), reads=[]) for update in range(8)]
    run.ranks[0].scripted = ScriptedTime(ticks=ticks, end_seconds=9.0, last_reads=[])
    scripts = profile.clock_trial.scripts
    return [clock_trial.clock_of(script, profile) for script in scripts], clock_trial.measured(run, profile)


def raced(profile: Profile) -> Any:
    """What a round of the speed trial runs, and what is made of rounds that spread."""
    asked = []

    def run(number: int, course: Course) -> Race:
        asked.append((number, course))
        slower = 1 + 0.01 * (number % 3)
        taken = [Taken(update, 1.0, 2.0) for update in range(course.timed)]
        later = [Taken(update, 1.0 + 1e-4 * number, 2.0 * slower) for update in range(course.timed)]
        return Race((receipts_factory.receipt(Lane.LOCAL), receipts_factory.receipt(Lane.ARTIFACT)), (taken, later))

    trial = speed.run_trial(receipts_factory.artifact(), profile, LAUNCH, run)
    return asked, trial.verdict, trial.reason


def tried(*differences: float, ratio: float = 1.0, drift: float = 0.0) -> See:
    """What is made of pairs that are so many bits per byte apart."""

    def see(profile: Profile) -> Any:
        return decide(Measured(differences, [ratio] * len(differences), drift), profile.trial)

    return see


def gated(profile: Profile) -> Any:
    """What the gate runs, and what it makes of a program whose loss is one nat higher."""
    receipts = [receipts_factory.receipt(lane) for lane in (Lane.LOCAL, Lane.ARTIFACT)]
    for receipt, loss in zip(receipts, (4.0, 5.0), strict=True):
        for update in receipt.ranks[0].updates:
            update.losses = [loss.hex()]
        receipt.ranks = receipt.ranks[:1]
    taken = [Taken(update, 1.0, 1.0) for update in range(8)]
    gate = judge_gate(Race((receipts[0], receipts[1]), (taken, taken)), profile)
    return gate_course(profile), gate.stopped


def two_ranks(see: See) -> See:
    """Looks at a contest whose official evaluation runs on two ranks."""

    def with_two(profile: Profile) -> Any:
        official = profile.evaluation.official.model_copy(update={"world_size": 2})
        return see(
            profile.model_copy(update={"evaluation": profile.evaluation.model_copy(update={"official": official})})
        )

    return with_two


def core(see: See) -> See:
    """Looks at a contest whose score has a part that nobody measures."""

    def with_core(profile: Profile) -> Any:
        parts = [part.model_copy(update={"name": "CORE"}) for part in profile.evaluation.score]
        return see(profile.model_copy(update={"evaluation": profile.evaluation.model_copy(update={"score": parts})}))

    return with_core


# --- The entries ---

DATA = f"""{SUBMISSION}

import prepare

HELD = "held_out.npy"
FOUND = "data/*.parquet"
BATCHES = prepare.make_dataloader(None, 1, 1, "train", "cpu", shard_ids=[4])
OTHERS = prepare._document_batches("test", 0, 1)
"""
FLAGS = f"""{SUBMISSION}

import os

os.environ["XLA_USE_BF16"] = "1"
os.environ["NEURON_CC_FLAGS"] = "--auto-cast=none"
os.environ["NEURON_RT_VISIBLE_CORES"] = "0"
"""
CONSTANTS = f"""{SUBMISSION}

NUM_RANKS = 8
LNC = 1
TRAIN_SECONDS = 600
SAVE_RESERVE_SECONDS = 1
"""
GRID = f"""{SUBMISSION}

import nki


@nki.jit
def kernel(x):
    return x


def run(x):
    return kernel[1](x)
"""
OLD = "import asynchat\n\n" + SUBMISSION
FIELDS: dict[str, tuple[Any, See]] = {
    "name": ("other", told),
    "version": (2, told),
    "title": ("Another contest", told),
    "budget.train_seconds": (59.0, compared(clocked())),
    "budget.startup_allowance_seconds": (20.0, compared(clocked())),
    "budget.startup_updates_excluded": (3, timed),
    "budget.charged_until": ("last_update", compared(clocked(train=60.0))),
    "budget.reserve_seconds": (0.0, compared(clocked())),
    "budget.slow_update_factor": (1.5, compared(slowed)),
    "budget.run_timeout_seconds": (0.2, ended),
    "launch.environment": ({"NEURON_LOGICAL_NC_CONFIG": ["1"]}, launched(LAUNCH)),
    "launch.required_environment": ([], launched(LAUNCH.partition(" ")[2])),
    "launch.launcher": (["torchrun"], launched(LAUNCH)),
    "launch.nproc_option": ("--ranks", launched(LAUNCH)),
    "launch.nproc_per_node": ([4], launched(LAUNCH)),
    "launch.full_chip": (["NEURON_LOGICAL_NC_CONFIG=2 x 4"], reviewed()),
    "launch.script": ("main.py", prepared),
    "launch.flags": (False, launched(f"{LAUNCH} --fast")),
    "environment.launcher_owned": (["RANK"], compared(exported)),
    "environment.harness_owned": ([], read("NEURON_COMPETITION_R1_STEP_LOG")),
    "environment.matters": ({"NEURON_CC_FLAGS": "speed"}, compared(exported)),
    "environment.policy": ({"KNOB": "allow", "*": "refuse"}, prepared),
    "files.submission[].name": ("main.py", contradicted),
    "files.submission[].required": (False, contradicted),
    "files.size_limit_bytes": (100, reviewed()),
    "files.output_directory": ("results", prepared),
    "files.state_part": ("meta", inspected),
    "files.meta_part": ("model_state", inspected),
    "hooks[].name": ("load", reviewed()),
    "hooks[].file": ("inference.py", reviewed(SUBMISSION.replace("load_for_eval", "load"))),
    "hooks[].parameters": (["path"], reviewed()),
    "hooks[].returns": ("torch.Tensor", reviewed()),
    "machine.title": ("a large computer", told),
    "machine.versions": ({"torch": "1.0"}, compared()),
    "machine.python": ("3.12", reviewed(OLD)),
    "machine.packages": (["numpy"], reviewed()),
    "machine.cores": (4, contradicted),
    "machine.memory_bytes": (1, compared()),
    "evaluation.score[].name": ("CORE", compared()),
    "evaluation.score[].weight": (0.5, contradicted),
    "evaluation.score[].normalised": ("min-max", compared()),
    "evaluation.score[].timeout_seconds": (10.0, core(compared())),
    "evaluation.public.split": ("other", wanted),
    "evaluation.public.max_tokens": (64, wanted),
    "evaluation.public.seq_len": (64, wanted),
    "evaluation.public.batch_size": (64, wanted),
    "evaluation.public.world_size": (64, wanted),
    "evaluation.official.split": ("other", wanted),
    "evaluation.official.max_tokens": (64, wanted),
    "evaluation.official.seq_len": (64, wanted),
    "evaluation.official.batch_size": (64, wanted),
    "evaluation.official.world_size": (64, wanted),
    "evaluation.agreement_bpb": (1.0, compared(rounded)),
    "evaluation.allowed_offsets[].name": ("other", compared()),
    "evaluation.allowed_offsets[].change": ({"seq_len": [1, 2]}, compared()),
    "evaluation.allowed_offsets[].bpb": ([0.0, 0.2], compared()),
    "evaluation.allowed_offsets[].mean": (None, compared()),
    "evaluation.allowed_offsets[].sd": (None, compared()),
    "budget.eval_timeout_seconds": (1.0, looks.begun),
    "environment.cache_directories": ({"COMPILED": "here"}, prepared),
    "files.checkpoint": ("out/last.pt", looks.scored),
    "files.checkpoint_parts": (["model_state", "model_config", "meta", "optimizer"], looks.checked),
    "files.meta_keys": (["step", "tokens"], looks.checked),
    "files.step_key": ("seed", compared(stale)),
    "machine.device": ("cpu", looks.begun),
    "machine.device_module": (None, looks.begun),
    "evaluation.hook": ("main", looks.sited),
    "evaluation.cross_check": (["official"], two_ranks(looks.begun)),
    "evaluation.causality_rows": (2, looks.looked),
    "evaluation.purity.tokens": (4096, looks.begun),
    "evaluation.purity.length_factors": ([64.0], looks.begun),
    "evaluation.purity.batch_sizes": ([1000], looks.begun),
    "evaluation.purity.world_sizes": ([3], looks.pretended),
    "evaluation.purity.dtypes": ({"cpu": "bfloat16"}, looks.cast),
    "evaluation.purity.scored_rows": (1, looks.begun),
    "evaluation.purity.growth_bytes": (1 << 10, looks.grown),
    "evaluation.audit.floor_bpb": (3.0, looks.believed),
    "evaluation.audit.reference_bpb": (4.0, looks.believed),
    "evaluation.audit.gain_bpb": (0.001, looks.believed),
    **{f"room.{limit}": (1 << 10, looks.limited) for limit in RoomLimits.model_fields},
    **{f"kit.functions.{role}": ("other", looks.kit_settings) for role in ("tokenizer", "token_bytes", "documents")},
    **{f"kit.functions.{role}": ("other", looks.kit_settings) for role in ("evaluate", "causality")},
    "kit.functions.ranks": ("other", looks.sited),
    "kit.file": ("other.py", looks.ensured),
    "kit.setup": (["build", "all"], looks.ensured),
    "kit.eval_public": (["score", "{max_tokens}"], looks.command),
    "kit.symbols": (["missing"], looks.ensured),
    "kit.optional_symbols": ([], contradicted),
    "kit.calls[].required": (["rank"], looks.ensured),
    "kit.calls[].optional": ([], looks.ensured),
    "kit.constants": ({"TRAIN_TIME_BUDGET_SECONDS": 61}, looks.ensured),
    "kit.vocab_size": (8, looks.numbered),
    "kit.bos_token_id": (8, looks.numbered),
    "kit.special_token_ids": ([2044], looks.tabled),
    "kit.sha256": ("0" * 64, looks.ensured),
    "kit.files": ({"other.txt": "0" * 64}, looks.ensured),
    "kit.train_split": ("training", looks.overlapped),
    "kit.model_files": (["*.parquet"], looks.begun),
    "kit.stand_in": (False, looks.chosen),
    "lockstep.window_updates": (3, prepared),
    "clock_trial.updates": (50, scripted),
    **{f"clock_trial.{name}_seconds": (1.0, scripted) for name in ("unseen", "exit", "save")},
    "clock_trial.scripts[].name": ("another", scripted),
    **{
        f"clock_trial.scripts[].{name}_seconds": (20.0, scripted)
        for name in ("start_up", "compile", "stall", "save", "evaluation")
    },
    "clock_trial.scripts[].slower": (0.5, scripted),
    "clock_trial.scripts[].skew_updates": (3.0, scripted),
    "lockstep.census_update": (2, prepared),
    "trial.gate.updates": (9, gated),
    "trial.gate.worse_nats": (2.0, gated),
    "trial.side_by_side": (True, told),  # how the runs share the machine; no decision hangs on it
    "trial.step_ratio": ([0.99, 1.01], tried(-0.011, -0.012, ratio=0.95)),
    "trial.pairs": (3, tried(-0.011, -0.012)),
    "trial.adopt_bpb": (-0.02, tried(-0.011, -0.012)),
    "trial.disagree_bpb": (0.5, tried(-0.1, 0.05)),
    "trial.hold_bpb": (0.001, tried(-0.011, -0.012)),
    "trial.control_drift_bpb": (0.001, tried(-0.011, -0.012, drift=0.002)),
    "trial.confidence": (0.5, tried(-0.011, -0.012)),
    "speed_trial.limit": (0.2, raced),
    "speed_trial.confidence": (0.5, raced),
    "speed_trial.measure": ("wall", raced),
    "speed_trial.together": (False, raced),
    "speed_trial.updates": (9, raced),
    "speed_trial.rounds": ([2, 3], raced),
    "speed_trial.seconds": (1.0, raced),
    "lockstep.virtual_seconds_per_update": (0.25, virtual),
    "kit.cache_variable": ("KIT_DATA", prepared),
    "kit.functions.dataloader": ("batches", prepared),
    "kit.functions.step_boundary": ("boundary", prepared),
    "log.step": ("update", logged),
    "log.separator": (";", logged),
    "log.results_after": ("===", logged),
    "log.training": ("other_seconds", compared(counted)),
    "log.charged": ("other_seconds", compared(counted)),
    "log.over_budget": ("other", compared(counted)),
    "review.docstring_facts": ({"the licence": ["licence"]}, reviewed()),
    "review.training_data": (["training"], reviewed(DATA)),
    "review.validation_data": (["train"], reviewed(DATA)),
    "review.validation_files": (["held*"], reviewed(DATA)),
    "review.data_endings": ([".txt"], reviewed(DATA)),
    "review.split_argument": ({}, reviewed(DATA)),
    "review.training_shards": (5, reviewed(DATA)),
    "review.shard_argument": ("shards", reviewed(DATA)),
    "review.conflicting_flags": ({}, reviewed(FLAGS)),
    "review.rank_constants": ([], reviewed(CONSTANTS)),
    "review.launch_constants": ({}, reviewed(CONSTANTS)),
    "review.budget_constants": ({}, reviewed(CONSTANTS)),
    "review.reserve_constants": ([], reviewed(CONSTANTS)),
    "review.core_variables": ([], reviewed(FLAGS)),
    "review.grid_variable": (None, reviewed(GRID)),
    "rules": ({"REV004": "advice"}, reviewed("import nowhere\n" + SUBMISSION)),
    "facts.uploads_per_week": (1, lambda profile: str(week([], profile, date(2026, 9, 3)))),
    "facts.fingerprints[].split": ("other", compared()),
    "facts.fingerprints[].max_tokens": (1, compared()),
    "facts.fingerprints[].world_size": (2, compared()),
    "facts.fingerprints[].num_bytes": (4 * 4096, compared()),
    **{
        f"facts.{name}": (value, told)  # facts for readers; no verdict hangs on them
        for name, value in {
            "noise.same_file_sd": 0.1,
            "noise.seed_sd": [0.1, 0.2],
            "noise.shuffle_sd": 0.1,
            "noise.repeat_below": 0.1,
            "noise.bpb_per_percent_of_steps": 0.1,
            "noise.step_count_sd": [1, 2],
            "noise.host_spread": 0.1,
            "noise.bad_path_share": 0.1,
            "noise.bad_path_bpb": [0.1, 0.2],
            "noise.bad_path_updates": 1,
            "startup_margin_seconds": [1, 2],
            "startup_seen_seconds": {"cold": [1, 2]},
        }.items()
    },
    "confidence": ({"budget": "inferred"}, told),
}


@functools.cache
def seen(see: See) -> Any:
    """What the unchanged profile shows."""
    return see(Profile.model_validate(base()))


@pytest.mark.parametrize("path", FIELDS)
def test_another_value_of_a_field_changes_what_is_seen(path: str) -> None:
    value, see = FIELDS[path]
    assert see(changed(path, value)) != seen(see)


@pytest.mark.parametrize(
    "path",
    ["budget.train_seconds", "launch.script", "files.state_part", "machine.title", "kit.setup", "kit.model_files"],
)
def test_the_same_value_changes_nothing(path: str) -> None:
    """Else the tests above would show only that no two looks are alike."""
    see = FIELDS[path][1]
    assert see(changed(path, lambda value: value)) == seen(see)


def test_every_field_of_the_schema_has_an_entry() -> None:
    assert sorted(set(fields()) - FIELDS.keys()) == []
    assert sorted(FIELDS.keys() - set(fields())) == []
