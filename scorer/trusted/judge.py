"""The judge: scores a checkpoint through the submission's `load_for_eval`, and tests the model's purity.

    receipt = score(artifact, checkpoint, profile, kit, local_receipt)

Targets, the byte table, the clock and the sums stay on this side; the model process gets token ids and returns logits.
Every number is nats / (ln 2 x bytes), recomputed from those logits.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import scorer
from scorer.artifact import Artifact
from scorer.contest import EvaluationSettings, Profile
from scorer.findings import Finding
from scorer.room import checkpoint as checkpoint_file
from scorer.room.cleanroom import Room
from scorer.room.kit import KitPaths
from scorer.room.receipts import (
    Checkpoint,
    Evaluation,
    Event,
    KitCheck,
    Lane,
    Outcome,
    Parameter,
    Rank,
    Receipt,
    Site,
    Subject,
)
from scorer.room.stand_in import stand_ins
from scorer.trusted import agreement, conduct, data, official, purity
from scorer.trusted import checkpoint as checkpoints
from scorer.trusted import settings as ways
from scorer.trusted.kit_process import KitProcess
from scorer.trusted.model import PUR001, PUR002, PUR003, PUR004, PUR005, PUR007, Model, SubmissionError
from scorer.trusted.nats import Sums, cross_entropy, rows
from scorer.trusted.process import ModelProcess, ModelProcessError, Note
from scorer.trusted.public import Public, PublicError
from scorer.trusted.sources import Source
from scorer.trusted.streams import StreamError, Streams

START_SECONDS = 120.0  # for imports, beside the contest's own limit for an evaluation

Progress = Callable[[str], None]


def score(
    artifact: Artifact,
    checkpoint: Path,
    profile: Profile,
    kit: KitPaths,
    local: Receipt | None,
    progress: Progress | None = None,
) -> Receipt:
    """Score one checkpoint of one submission; what is wrong with either becomes findings in the receipt.

    With the local lane's receipt the score is also measured under that lane's settings and compared with its own.
    Never raises for what a submission does.
    """
    trial = _Trial(artifact, checkpoint, profile, kit, local, progress or (lambda _: None))
    with contextlib.ExitStack() as stack:
        try:
            trial.run(stack)
        except SubmissionError as error:
            trial.findings.append(error.finding)
            trial.stop(error.finding.message)
        except ModelProcessError as error:
            trial.findings.append(conduct.broken(trial.source, error, trial.doing))
            trial.stop(str(error))
        except StreamError as error:
            trial.stop(str(error))
    return trial.receipt()


class _Trial:
    """One scoring, from the checkpoint's file to the receipt."""

    def __init__(
        self,
        artifact: Artifact,
        checkpoint: Path,
        profile: Profile,
        kit: KitPaths,
        local: Receipt | None,
        progress: Progress,
    ) -> None:
        self.artifact, self.path, self.profile, self.kit, self.local = artifact, checkpoint, profile, kit, local
        self.say = progress
        self.source = Source(artifact)
        self.findings: list[Finding] = []
        self.evaluations: list[Evaluation] = []
        self.wanted: list[tuple[str, EvaluationSettings]] = []
        self.checkpoint: Checkpoint | None = None
        self.problem: str | None = None
        self.doing = "start"
        self.notes: list[Note] = []
        self.kits: dict[int, KitProcess] = {}
        self.kit_checks: list[KitCheck] = []
        self.hello: dict[str, Any] = {}
        self.loaded: dict[str, Any] = {}
        self.protections: dict[str, str | None] = {}
        self.network = "not isolated"

    def run(self, stack: contextlib.ExitStack) -> None:
        """Everything that needs processes. Raises SubmissionError, ModelProcessError or StreamError."""
        if not self.path.is_file():
            finding = self.source.raise_at(
                checkpoints.CKP001,
                f"the run left no checkpoint at {self.profile.files.checkpoint}",
                self.source.save(),
            )
            raise SubmissionError(finding)
        self.checkpoint = checkpoint_file.inspect(self.path, self.profile.files.checkpoint, self.profile.files)
        self.findings += checkpoints.check(self.path, self.checkpoint, self.source)
        local_settings = self._local_settings()
        self.wanted = ways.wanted(self.profile, local_settings)

        self.say("loading the submission")
        streams = self._start_kit(stack)
        process, room = self._start_host(stack)
        try:
            model = self._load(process, streams)
            public = self._start_public(stack)
            self.doing = "purity"
            self.say("testing purity")
            seq_len, batch_size = self.profile.evaluation.official.seq_len, self.profile.evaluation.official.batch_size
            tested = streams.purity_rows(self._purity_rows(), seq_len)
            scored = streams.purity_rows(batch_size, seq_len)
            self.findings += purity.check(model, tested, scored)
            self.doing = "the kit's causality check"
            self._check_causality(model, streams)
            self.doing = "scoring"
            self._measure(model, streams)
            self.doing = "the kit's own evaluation"
            self._evaluate_by_kit(model, streams)
            self.doing = "the end"
            after = process.finish()
            if after is not None:
                self.findings.append(conduct.unasked(self.source, after, "after its last reply"))
        finally:
            process.read_notes()
            self.notes = process.notes
            heard = conduct.notes(self.source, self.notes, room.root)
            self.findings += heard
            if process.foreign_note is not None:
                self.findings.append(conduct.unasked(self.source, process.foreign_note, "while it was scored"))
            self.findings += conduct.left(self.source, room.leftover_files(), process.left_processes, [*heard])
            self.network, self.protections = process.network, process.protections
        self.say("comparing with the kit's eval-public")
        self._compare_public(public)
        if local_settings is not None and self.local is not None:
            self.findings += agreement.with_recipe(
                self.source, self.profile, self.local, self.checkpoint, local_settings, self.evaluations
            )

    def stop(self, problem: str) -> None:
        """Note why no score was made."""
        self.problem = problem

    # --- Starting ---

    def _local_settings(self) -> EvaluationSettings | None:
        try:
            return ways.local_settings(self.local)
        except ValueError as error:
            self.findings.append(self.source.raise_at(agreement.SCR007, str(error), None))
            return None

    def _environment(self, room: Room, cache_dir: Path) -> dict[str, str]:
        beside = [room.work] if self.artifact.others else []  # the script's own directory, as when it was run
        threads = str(max(1, (os.cpu_count() or 2) // 2))  # two model processes run beside each other
        variables = {
            self.profile.kit.cache_variable: str(cache_dir),
            "PYTHONDONTWRITEBYTECODE": "1",
            "OMP_NUM_THREADS": threads,
        }
        return room.environment(pythonpath=[*stand_ins(), self.kit.directory, *beside], variables=variables)

    def _start_kit(self, stack: contextlib.ExitStack) -> Streams:
        """The kit in processes of its own, one for each world size of the cross-check; the first reads the streams."""
        room = stack.enter_context(Room())
        environment = self._environment(room, self.kit.cache_dir)
        rules, evaluation = self.profile.kit, self.profile.evaluation
        sizes = {getattr(evaluation, name).world_size for name in evaluation.cross_check}
        for world_size in sorted({1} | sizes):
            self.kits[world_size] = KitProcess(room, environment, rules, world_size)
            stack.callback(self.kits[world_size].close)
        length = max(self._purity_rows(), evaluation.official.batch_size) * evaluation.official.seq_len
        return Streams(
            self.kits[1],
            room.records / "streams",
            rules,
            [settings for _, settings in self.wanted],
            purity=(evaluation.public.split, length),
        )

    def _start_host(self, stack: contextlib.ExitStack) -> tuple[ModelProcess, Room]:
        """The model's room holds the submission, the checkpoint, and of the kit's data what the profile names."""
        data, kit = self.kit.cache_dir, self.kit.directory
        room = stack.enter_context(Room(secret=() if kit.is_relative_to(data) else [data]))
        given = room.root / "kit-data"
        given.mkdir()
        for path in self.kit.model_data(self.profile.kit.model_files):
            (given / path).parent.mkdir(parents=True, exist_ok=True)
            (given / path).write_bytes((self.kit.cache_dir / path).read_bytes())
        train_py, checkpoint = self._give(room)
        process = ModelProcess(
            room,
            train_py,
            checkpoint,
            self.profile.machine.device,
            self._environment(room, given),
            self.profile.budget.eval_timeout_seconds + START_SECONDS,
        )
        return stack.enter_context(process), room

    def _start_public(self, stack: contextlib.ExitStack) -> Public:
        room = stack.enter_context(Room())
        train_py, checkpoint = self._give(room)
        settings = self.profile.evaluation.public
        environment = self._environment(room, self.kit.cache_dir)
        public = Public(room, self.kit, self.profile.kit, train_py, checkpoint, settings, environment)
        stack.callback(public.close)
        return public

    def _give(self, room: Room) -> tuple[Path, Path]:
        for other in self.artifact.others:
            room.give(str(other.member), other.train_py.read_bytes())
        train_py = room.give(self.profile.launch.script, self.artifact.train_py.read_bytes())
        return train_py, room.give(self.profile.files.checkpoint, self.path.read_bytes())

    # --- Loading ---

    def _load(self, process: ModelProcess, streams: Streams) -> Model:
        self.doing = "import"
        process.call("probe")
        self.hello = self._answer(process.call("hello"), PUR001, "the device cannot be used")
        imported = self._answer(process.call("import"), PUR001, "the submission cannot be imported by path")
        probed = process.call("probed")
        if not probed["imported"]:
            error = probed["error"]
            message = f"the import fails when train.py has no entry in sys.modules: {error['type']}: {error['message']}"
            self.findings.append(self.source.raise_at(PUR002, message, _line(error)))
        self.findings += conduct.surroundings(self.source, imported["changed"], "the import", None)
        self._check_hooks(imported["hooks"])
        self.doing = "load_for_eval"
        at = self.source.function("load_for_eval")
        loaded = self._answer(process.call("load"), PUR004, "load_for_eval fails", at)
        self.loaded = loaded
        if not loaded["module"]:
            message = f"load_for_eval returns a {loaded['type']}, expected a torch.nn.Module"
            raise SubmissionError(self.source.raise_at(PUR005, message, at))
        self.findings += conduct.surroundings(self.source, loaded["changed"], "load_for_eval", at)
        device = self.profile.machine.device
        for wrong in (
            f"{', '.join(loaded['training'][:3])} in training mode" if loaded["training"] else "",
            f"tensors on {', '.join(loaded['devices'])}, expected {device}"
            if loaded["devices"] not in ([], [device])
            else "",
            f"forward hooks on {', '.join(loaded['hooks'][:3])}" if loaded["hooks"] else "",
        ):
            if wrong:
                self.findings.append(self.source.raise_at(PUR005, f"load_for_eval returns a model with {wrong}", at))
        self.doing = "reading the kit's tokens"
        streams.wait(process.seconds)
        self.findings += data.table(self.source, self.profile, streams.facts, streams.token_bytes.tolist())
        self.wanted, lacking = data.enough(self.source, streams, self.wanted)
        self.findings += lacking
        if not self.wanted:
            raise StreamError("no settings have enough tokens")
        splits = sorted({settings.split for _, settings in self.wanted})
        data.begin_overlap(self.profile, self.kits[1], splits)
        process.map(self._slot_tokens(), streams.vocabulary)
        model = Model(process, self.source, loaded, streams.vocabulary)
        self._check_weights(model)
        return model

    def _check_weights(self, model: Model) -> None:
        if self.checkpoint is None or not self.checkpoint.readable:
            return
        state = {name: value for name, (kind, value) in model.state().items() if kind == "parameter"}
        parameters = [(name, shape, dtype) for name, shape, dtype, _ in self.loaded["parameters"]]
        changed = checkpoints.changed_weights(self.path, parameters, state)
        if changed:
            message = f"load_for_eval changes {len(changed)} of the checkpoint's tensors, the first is {changed[0]}"
            line = self.source.function("load_for_eval")
            self.findings.append(self.source.raise_at(PUR007, message, line, evidence={"tensors": changed[:10]}))

    def _answer(self, reply: dict[str, Any], code: str, what: str, line: int | None = None) -> dict[str, Any]:
        if reply["ok"]:
            return reply
        error = reply["error"]
        message = f"{what}: {error['type']}: {error['message']}"
        raise SubmissionError(
            self.source.raise_at(code, message, _line(error) or line, evidence={"error": error["type"]})
        )

    def _check_hooks(self, hooks: dict[str, list[str]]) -> None:
        for hook in self.profile.hooks:
            found = hooks.get(hook.name)
            if found is None:
                message = f"train.py defines no function {hook.name}({', '.join(hook.parameters)})"
                raise SubmissionError(self.source.raise_at(PUR003, message, 1))
            if found[: len(hook.parameters)] != hook.parameters:
                message = (
                    f"{hook.name} takes ({', '.join(found)}), the contest calls it with ({', '.join(hook.parameters)})"
                )
                self.findings.append(self.source.raise_at(PUR003, message, self.source.function(hook.name)))

    def _slot_tokens(self) -> int:
        """Room for the largest batch: of any measurement, and of the purity tests with rows of twice the length."""
        longest = self.profile.evaluation.official
        largest = max(settings.batch_size * settings.seq_len for _, settings in self.wanted)
        return max(largest, max(self._purity_rows() // 2, longest.batch_size) * longest.seq_len)

    def _purity_rows(self) -> int:
        """Rows for the purity tests: two different batches."""
        return 2 * max(4, self.profile.evaluation.purity.tokens // self.profile.evaluation.official.seq_len)

    # --- Scoring ---

    def _measure(self, model: Model, streams: Streams) -> None:
        """Every measurement; one whose tokens are the first whole batches of a longer one shares that one's pass."""
        passes: dict[tuple[object, ...], list[tuple[str, EvaluationSettings]]] = {}
        for name, settings in sorted(self.wanted, key=lambda pair: -pair[1].max_tokens):
            kind: tuple[object, ...] = (settings.split, settings.seq_len, settings.batch_size, settings.world_size)
            whole = ways.per_rank(settings) % (settings.seq_len * settings.batch_size) == 0
            if kind in passes and not whole:
                kind = (*kind, settings.max_tokens)
            passes.setdefault(kind, []).append((name, settings))
        for together in passes.values():
            self._measure_together(model, streams, together)
        order = [name for name, _ in self.wanted]
        self.evaluations.sort(key=lambda evaluation: order.index(evaluation.name))

    def _measure_together(self, model: Model, streams: Streams, together: list[tuple[str, EvaluationSettings]]) -> None:
        """Settings that differ in the token count alone, the longest first."""
        longest = together[0][1]
        self.say(f"scoring {ways.num_targets(longest):,} tokens of {longest.split}, context {longest.seq_len}")
        sums = [Sums() for _ in together]
        took = [0.0 for _ in together]
        for rank in range(longest.world_size):
            began = time.monotonic()
            stream = streams.stream(longest.split, rank, longest.world_size, ways.per_rank(longest))
            reached = 0
            for logits, targets in model.stream(rows(stream, longest.batch_size, longest.seq_len)):
                losses, lengths = cross_entropy(logits, targets), streams.token_bytes[targets.flatten()]
                for one, (_, settings) in enumerate(together):
                    if reached < ways.per_rank(settings):
                        sums[one].add(losses, lengths)
                reached += targets.numel()
                for one, (_, settings) in enumerate(together):
                    if reached == ways.per_rank(settings):
                        took[one] += time.monotonic() - began
                self._in_time(time.monotonic() - began)
        for (name, settings), total, seconds in zip(together, sums, took, strict=True):
            self.evaluations.append(
                Evaluation(
                    name=name,
                    split=settings.split,
                    seq_len=settings.seq_len,
                    batch_size=settings.batch_size,
                    world_size=settings.world_size,
                    device=self.profile.machine.device,
                    num_tokens=total.num_tokens,
                    num_bytes=total.num_bytes,
                    total_nats=total.total_nats.hex(),
                    val_bpb=total.val_bpb.hex(),
                    seconds=seconds,
                )
            )

    def _in_time(self, seconds: float) -> None:
        limit = self.profile.budget.eval_timeout_seconds
        if seconds > limit:
            error = ModelProcessError("timed out", f"the evaluation ran over the contest's limit of {limit:g} s")
            raise error

    def _check_causality(self, model: Model, streams: Streams) -> None:
        kit = self.kits[1]
        self.findings += data.end_overlap(self.source, self.profile, kit)
        for process in self.kits.values():
            process.map(self._slot_tokens(), streams.vocabulary)
        self.kit_checks, found = official.causality(
            self.source, self.profile, kit, model.answer, self.findings, purity.PUR010
        )
        self.findings += found

    def _evaluate_by_kit(self, model: Model, streams: Streams) -> None:
        self.say("the kit's own evaluation of the same model")
        measured, found = official.evaluate(
            self.source, self.profile, self.kits, streams, model.answer, self.evaluations
        )
        self.evaluations += measured
        self.findings += found

    def _compare_public(self, public: Public) -> None:
        limit = self.profile.budget.eval_timeout_seconds + START_SECONDS
        try:
            measured = public.result(limit, self.profile.machine.device)
        except PublicError as error:
            at = self.source.function("load_for_eval")
            self.findings.append(self.source.raise_at(agreement.SCR005, str(error), at))
            return
        self.evaluations.append(measured)
        self.findings += agreement.with_public(self.source, self.profile, measured, self.evaluations)

    # --- The receipt ---

    def receipt(self) -> Receipt:
        """All that was found, as the trusted lane's receipt."""
        return Receipt(
            scorer_version=scorer.__version__,
            lane=Lane.TRUSTED,
            outcome=Outcome.COMPLETE if self.problem is None else Outcome.FAILED,
            exit_code=None,
            problem=self.problem,
            problem_site=self._problem_site(),
            profile=self.profile.name,
            profile_version=self.profile.version,
            subject=Subject(
                kind="file",
                sha256=self.artifact.sha256,
                others={str(other.member): other.sha256 for other in self.artifact.others},
            ),
            kit=self.kit.record,
            launch=None,
            clock=None,
            caches="cold",
            network=self.network,
            protections=self.protections,
            ranks=[self._rank()] if self.hello else [],
            time=None,
            checkpoint=self.checkpoint,
            evaluations=self.evaluations,
            kit_checks=self.kit_checks,
            summary={},
            log_steps=[],
            log_tail=[],
            left_files=[],
            left_processes=[],
            observed_findings=[found.model_dump(mode="json") for found in self.findings],
        )

    def _problem_site(self) -> Site | None:
        line = self.findings[-1].artifact_line if self.problem and self.findings else None
        return Site(file="train.py", line=line) if line is not None else None

    def _rank(self) -> Rank:
        """The model process, as a rank of a run of one."""
        return Rank(
            rank=0,
            world_size=1,
            python=self.hello["python"],
            argv=[],
            environment_start=self.hello["environment"],
            environment_end=self.hello["environment"],
            packages=self.hello["packages"],
            neuron=self.hello["neuron"],
            devices=self.loaded.get("devices", []),
            knobs={},
            parameters=[
                Parameter(name=name, shape=shape, dtype=dtype, device=device)
                for name, shape, dtype, device in self.loaded.get("parameters", [])
            ],
            updates=[],
            census_update=None,
            census=[],
            events=[
                Event(kind=note.kind, detail=Path(note.detail).name, site=Site(file="train.py", line=note.line))
                for note in self.notes
            ],
            observer_seconds=0.0,
        )


def _line(error: dict[str, Any]) -> int | None:
    """Line of train.py in which an error rose."""
    return int(error["frames"][-1][0]) if error["frames"] else None
