"""Surroundings: another module name, working directory, environment, world size; no entry in sys.modules; other dtypes;
the model of another file of the submission, which must be the same one.

Each is a fork of the host that imports and loads the submission anew, and answers a small batch with the same bits. All
that may not matter is changed in one fork together; only where that one differs are they tried one by one.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from scorer.contest import Profile
from scorer.findings import define
from scorer.trusted.model import PUR002, Model, SubmissionError
from scorer.trusted.process import ModelProcess, ModelProcessError, Submitted
from scorer.trusted.purity.batch import NEIGHBOURS, POSITION, SIZE
from scorer.trusted.purity.bench import Bench
from scorer.trusted.purity.causality import CAUSALITY, causal
from scorer.trusted.purity.record import Test
from scorer.trusted.replies import Failed, Forwarded, Loaded
from scorer.trusted.tolerance import Change

PUR025 = define(
    "PUR025",
    title="The model depends on its module's name or on the working directory",
    why="The scorer imports train.py under a name and in a directory of its own choice.",
    remedy="Use no __name__ outside the main guard, and open no file but the checkpoint that the hook is given.",
)
PUR026 = define(
    "PUR026",
    title="The model depends on environment variables",
    why="What is scored then changes with the scorer's environment, which is not the one of the run.",
    remedy="Write the value into the file or checkpoint; read no variable at import, while loading or in forward.",
)
PUR027 = define(
    "PUR027",
    title="The model depends on the world size or rank",
    why="Training runs on many ranks, scoring on one, or on as many as the scorer likes.",
    remedy="Consolidate the weights before saving; read no rank or world size while loading or in forward.",
)
PUR030 = define(
    "PUR030",
    title="Another file of the submission gives another model",
    why="The contest asks each file's hook for the trained model: they must agree, or one of the numbers is not its.",
    remedy="Load the same weights in both files, and compute with the same operations, up to rounding.",
)
MODULE_NAME = Test("module name", PUR025)
DIRECTORY = Test("working directory", PUR025)
ENVIRONMENT = Test("hostile environment", PUR026)
WORLD = Test("world size", PUR027)
OTHER_FILE = Test("other file", PUR030)
REGISTERED = Test("import without an entry in sys.modules", PUR002)

LOCALE = {"TZ": "Asia/Kathmandu", "LANG": "tr_TR.UTF-8", "LC_ALL": "tr_TR.UTF-8", "COLUMNS": "7"}
OTHER_VALUE = "7"
OBEYED = {
    "NEURON_PLATFORM_TARGET_OVERRIDE",
    "NEURON_RT_STOCHASTIC_ROUNDING_EN",
    "NEURON_RT_STOCHASTIC_ROUNDING_SEED",
    "NKI_DMA_TRANSPOSE_AS_PE_TRANSPOSE",
    "NKI_PRECISE_FP",
}
"""What the stand-in for the SDK obeys as the SDK does."""


@dataclass(frozen=True)
class Variant:
    """One way of loading the submission otherwise: which test that is, and how."""

    test: Test
    trial: str
    submitted: Submitted


def variants(plain: Submitted, profile: Profile, kept: Sequence[str], neuron: str, scratch: Path) -> list[Variant]:
    """Every variant of loading `plain`. `kept` are the variables that the room itself sets, `neuron` is what it has."""
    name = f"train_{secrets.token_hex(4)}"
    hostile = hostile_environment(profile, kept, neuron)
    found = [
        Variant(MODULE_NAME, f"as {name}", replace(plain, module_name=name)),
        Variant(DIRECTORY, "in an empty directory", replace(plain, directory=scratch)),
        Variant(ENVIRONMENT, f"{len(hostile)} variables set", replace(plain, environment=hostile)),
    ]
    for size in sorted(profile.evaluation.purity.world_sizes, reverse=True):
        environment = world_environment(profile, size)
        found.append(Variant(WORLD, f"rank {size - 1} of {size}", replace(plain, environment=environment)))
    for hook in profile.hooks:
        if hook.file != profile.launch.script and hook.returns == profile.scoring_hook.returns:
            file = plain.train_py.parent / hook.file
            found.append(
                Variant(OTHER_FILE, f"{hook.name} of {hook.file}", replace(plain, train_py=file, hook=hook.name))
            )
    return found


def hostile_environment(profile: Profile, kept: Sequence[str], neuron: str) -> dict[str, str]:
    """Variables that may not matter to a loaded model, set to what nobody expects.

    Left alone are those of rank and world size, which are tested by themselves, those that a launch sets for the
    device, and what the SDK's compiler and runtime obey (with the stand-in, what that obeys of it): they are not the
    submission's to ignore.
    """
    rules = profile.environment
    names = [*rules.launcher_owned, *([] if neuron == "sdk" else rules.matters)]
    plain = {name.replace("*", "PARITY") for name in names} - {
        *kept,
        *profile.launch.environment,
        *world_environment(profile, 1),
        *OBEYED,
    }
    return {**dict.fromkeys(sorted(plain), OTHER_VALUE), **LOCALE}


def world_environment(profile: Profile, size: int) -> dict[str, str]:
    """The launcher's variables as the last rank of a run of that size sees them."""
    values = {"WORLD_SIZE": str(size), "RANK": str(size - 1)}
    return {
        name: value
        for name in profile.environment.launcher_owned
        for ending, value in values.items()
        if name == ending or name.endswith(f"_{ending}")
    }


def indifferent(bench: Bench, ways: Sequence[Variant]) -> None:
    """Answer two rows in every variant, with the bits of the process that the other tests run in.

    All kinds at once in one fork, and beside it the other world sizes; where the first differs, each by itself.
    """
    rows = bench.first[:2]
    expected = bench.model.forward(rows)
    if torch.equal(expected, bench.model.forward(bench.second[:2])):
        for way in ways:
            bench.record.void(way.test, way.trial, "another batch gives the same logits")
        return
    kinds = {way.test.name: way for way in reversed(ways) if way.test is not OTHER_FILE}  # the first of each kind
    alone = [way for way in ways if kinds.get(way.test.name) is not way]
    together = [way for way in ways if kinds.get(way.test.name) is way]
    plain = bench.model.process.submitted
    every = replace(
        plain,
        module_name=next((w.submitted.module_name for w in together if w.test is MODULE_NAME), plain.module_name),
        directory=next((w.submitted.directory for w in together if w.test is DIRECTORY), plain.directory),
        environment={name: value for way in together for name, value in way.submitted.environment.items()},
    )
    asked = [every, *(way.submitted for way in alone)]
    answers = _answers(bench, asked, rows, expected)
    for way, problem in zip(alone, answers[1:], strict=True):
        _tell(bench, way, problem)
    if answers[0] is None:
        for way in together:
            _tell(bench, way, None)
        return
    problems = _answers(bench, [way.submitted for way in together], rows, expected)
    if not any(problems):  # only all of them at once make the difference
        problems[0] = answers[0]
    for way, problem in zip(together, problems, strict=True):
        _tell(bench, way, problem)


def _tell(bench: Bench, way: Variant, problem: str | None) -> None:
    if problem is None:
        bench.passed(way.test, way.trial)
        return
    source = bench.model.source
    line = source.environment_read() if way.test in (ENVIRONMENT, WORLD) else source.own_name_or_directory()
    line = source.loader() if way.test is OTHER_FILE else line
    bench.failed(way.test, way.trial, f"{way.test.name}, {way.trial}: {problem}", line, None)


def _answers(bench: Bench, asked: Sequence[Submitted], rows: torch.Tensor, expected: torch.Tensor) -> list[str | None]:
    """What is wrong with each fork's answer, None where it is the expected one; all forks work at the same time."""
    with contextlib.ExitStack() as stack:
        started = [_begin(stack, bench, submitted, rows) for submitted in asked]
        return [_problem(process, bench, rows, expected) for process in started]


def _begin(stack: contextlib.ExitStack, bench: Bench, submitted: Submitted, rows: torch.Tensor) -> ModelProcess:
    """Start a fork and give it all its commands, without waiting for any answer."""
    model = bench.model
    process = stack.enter_context(model.process.host.start(submitted, rows.numel(), model.vocabulary))
    process.put(0, rows)
    process.poison(0, rows.numel(), None)
    process.send("import")
    process.send("load", hook=submitted.hook)
    process.send("forward", slot=0, rows=rows.shape[0], cols=rows.shape[1], vocabulary=model.vocabulary)
    return process


def _problem(process: ModelProcess, bench: Bench, rows: torch.Tensor, expected: torch.Tensor) -> str | None:
    try:
        replies = [process.receive() for _ in range(3)]
    except ModelProcessError as error:
        if error.kind in ("log", "memory") or process.host.gone:
            raise  # too much is no dependence: the same would end the plain process
        return str(error)
    for what, reply in zip(("the import", process.submitted.hook, "forward"), replies, strict=True):
        if isinstance(reply, Failed):
            return f"{what} raises {reply.error.type}: {reply.error.message}"
    answer = replies[2]
    assert isinstance(answer, Forwarded)
    shape = list(expected.shape)
    if not answer.exact or answer.shape != shape or answer.dtype is None or answer.dtype != bench.model.dtype:
        return (
            f"forward returns {answer.type} {answer.shape} of {answer.dtype}, and {shape} of {bench.model.dtype} before"
        )
    found = process.logits(0, shape, answer.dtype).float()
    same_file = process.submitted.train_py == bench.model.process.submitted.train_py
    change = Change.NOTHING if same_file else Change.SHAPE  # another file may compute in another order
    difference = bench.compare(expected, found, change)
    return f"the logits are different ({difference})" if difference.exceeded else None


def unregistered(bench: Bench) -> None:
    """Import the submission without an entry in `sys.modules`, as some scorers do."""
    plain = replace(bench.model.process.submitted, registered=False)
    trial = "by path alone"
    with bench.model.process.host.start(plain, 1, bench.model.vocabulary) as process:
        try:
            reply = process.call("import")
        except ModelProcessError as error:
            bench.failed(REGISTERED, trial, f"the import ends the process without an entry: {error}", 1, None)
            return
    if isinstance(reply, Failed):
        raised = reply.error
        message = f"the import fails when train.py has no entry in sys.modules: {raised.type}: {raised.message}"
        bench.failed(REGISTERED, trial, message, raised.line, None)
    else:
        bench.passed(REGISTERED, trial)


def other_dtypes(bench: Bench) -> None:
    """Causality once more in every dtype of the contest in which the model does not compute already.

    On the device that the contest has for it, or cast to it on the model's own. A model that cannot do either is not
    wrong for that (a kernel of the device takes no other tensors), so that is noted as not run.
    """
    plain = bench.model.process.submitted
    for device, dtype in bench.settings.dtypes.items():
        own = device == plain.device
        if own and dtype in bench.model.dtypes:
            continue
        trial = f"in {dtype} on {device}"
        with contextlib.ExitStack() as stack:
            process = stack.enter_context(
                bench.model.process.host.start(
                    replace(plain, device=device), bench.first.numel(), bench.model.vocabulary
                )
            )
            try:
                reply = process.call("import")
                if not isinstance(reply, Failed):
                    reply = process.call("load", hook=plain.hook, cast=dtype if own else None)
                if not isinstance(reply, Loaded) or not reply.module:
                    words = f"{reply.error.type}: {reply.error.message}" if isinstance(reply, Failed) else "no module"
                    bench.record.not_run(CAUSALITY, trial, f"loading it there gives {words}")
                    continue
                model = Model(process, bench.model.source, reply)
                there = replace(bench, model=model, logits=model.forward(bench.first))
                alone = bench.record.has_failed(NEIGHBOURS, POSITION, SIZE)
                causal(there, alone, most_batches=1, where=f", {trial}")
            except (SubmissionError, ModelProcessError) as error:
                bench.record.not_run(CAUSALITY, trial, str(error))
