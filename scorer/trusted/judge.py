"""The judge: scores a checkpoint through the submission's `load_for_eval`, and tests the model's purity.

    receipt = score(artifact, checkpoint, profile, kit, local_receipt)

Targets, the byte table, the clock and the sums stay on this side; a model process gets token ids and returns logits.
Every number is nats / (ln 2 x bytes), recomputed from those logits. Two rooms hold the submission, one after the other:
in the first, one process gets the batches that are scored and nothing else; when all of that room has ended, one in the
second is asked about a part of them again and goes through the tests of purity. Where a test finds that the logits come
from anything but the tokens before them and the weights, there is no number.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

import scorer
from scorer.artifact import Artifact
from scorer.contest import EvaluationSettings, Profile
from scorer.findings import Finding, Severity
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
from scorer.room.stand_in import stand_in_variables, stand_ins
from scorer.trusted import agreement, audit, conduct, data, loading, official, purity, scoring
from scorer.trusted import checkpoint as checkpoints
from scorer.trusted import settings as ways
from scorer.trusted.kit_process import KitProcess
from scorer.trusted.model import PUR007, Model, SubmissionError
from scorer.trusted.process import HostError, HostProcess, ModelProcess, ModelProcessError, Note, Submitted
from scorer.trusted.public import Public, PublicError
from scorer.trusted.purity import scored as scored_rows
from scorer.trusted.purity import surroundings
from scorer.trusted.purity.causality import CAUSALITY
from scorer.trusted.purity.isolation import isolated
from scorer.trusted.purity.record import Record
from scorer.trusted.replies import Conduct, Loaded
from scorer.trusted.sources import Source
from scorer.trusted.streams import StreamError, Streams

START_SECONDS = 120.0  # for imports, beside the contest's own limit for an evaluation
MEMORY_SHARE = 0.75  # of what is free when a room starts: the judge needs the rest

NO_NUMBER = {
    PUR007, "PUR010", "PUR011", "PUR012", "PUR013", "PUR014", "PUR019", "PUR020", "PUR022", "PUR023", "PUR025",
    "PUR026", "PUR027", "PUR028", "PUR029", conduct.PUR031,
}  # fmt: skip
"""Codes that say that the logits come from something else than tokens before them and weights, or may do so."""

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Place:
    """A room with a host, and the submission's files in it. `kept` are the variables that the room sets."""

    room: Room
    host: HostProcess
    submitted: Submitted
    kept: tuple[str, ...]


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
        except (StreamError, HostError, checkpoint_file.CheckpointError) as error:
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
        self.source = Source(artifact, profile)
        self.record = Record(self.source, self.source.loader())
        self.findings: list[Finding] = []
        self.evaluations: list[Evaluation] = []
        self.wanted: list[tuple[str, EvaluationSettings]] = []
        self.checkpoint: Checkpoint | None = None
        self.sampler: scored_rows.Sampler | None = None
        self.problem: str | None = None
        self.doing = "start"
        self.notes: list[Note] = []
        self.kits: dict[int, KitProcess] = {}
        self.kit_checks: list[KitCheck] = []
        self.hello: dict[str, Any] = {}
        self.loaded: Loaded | None = None
        self.launches: dict[str, int] = {}
        self.purity_seconds: float | None = None
        self.network = "not isolated"
        self.protections: dict[str, str | None] = {}

    def run(self, stack: contextlib.ExitStack) -> None:
        """Everything that needs processes. Raises SubmissionError, ModelProcessError, HostError or StreamError."""
        if not self.path.is_file():
            finding = self.source.raise_at(
                checkpoints.CKP001,
                f"the run left no checkpoint at {self.profile.files.checkpoint}",
                self.source.save(),
            )
            raise SubmissionError(finding)
        self.checkpoint = checkpoint_file.inspect(self.path, self.profile.files.checkpoint, self.profile.files)
        found = checkpoints.check(self.path, self.checkpoint, self.source, self.profile.files)
        self.findings += found
        if not self.checkpoint.readable and any(one.code == checkpoints.CKP001 for one in found):
            raise checkpoint_file.CheckpointError(found[0].message)  # a hook could only say the same, much later
        local_settings = self._local_settings()
        self.wanted = ways.wanted(self.profile, local_settings)

        self.say("loading the submission")
        streams = self._start_kit(stack)
        for_scoring, for_tests = self._start_host(stack), self._start_host(stack)
        self._read_kit(streams, for_scoring.host.seconds)
        self.hello = for_scoring.host.hello()
        self.sampler = scored_rows.Sampler(self.profile.evaluation.purity.scored_rows, scoring.num_rows(self.wanted))
        public: Public | None = None
        with self._process(for_scoring, self._slot_tokens(), streams.vocabulary) as process:
            self.doing = "loading"
            model = loading.load(process, self.source, self.profile, self.findings)
            self.loaded, self.record.line = model.loaded, model.forward_line
            public = self._start_public(stack)
            self.doing = "scoring"
            self.evaluations = scoring.measure(
                model, streams, self.profile, self.wanted, self.sampler, self.record, self.say
            )
            self.doing = "the kit's own evaluation"
            self._evaluate_by_kit(model, streams)
            self._look_at(process, "while it is scored", stopping=True)
        for_scoring.room.close()  # nothing that saw the scored batches runs when the second process starts
        self.say("testing purity")
        began = time.monotonic()
        with self._process(for_tests, self._slot_tokens(), streams.vocabulary) as process:
            self.doing = "loading a second time"
            model = loading.load(process, self.source, self.profile, [])
            self.doing = "purity"
            self._test(model, streams, for_tests)
            self.doing = "the kit's causality check"
            self._check_causality(model)
            self._look_at(process, "in the tests of purity", stopping=False)
        self.purity_seconds = time.monotonic() - began
        self.say("comparing with the kit's own command")
        self._compare_public(public)
        if local_settings is not None and self.local is not None:
            self.findings += agreement.with_recipe(
                self.source, self.profile, self.local, self.checkpoint, local_settings, self.evaluations
            )
        self.findings += audit.believable(self.source, self.profile, self.evaluations, streams.vocabulary)

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
        threads = str(max(1, (os.cpu_count() or 2) // 2))  # two model processes run beside each other
        variables = {
            self.profile.kit.cache_variable: str(cache_dir),
            **stand_in_variables(self.profile),
            "PYTHONDONTWRITEBYTECODE": "1",
            "OMP_NUM_THREADS": threads,
        }
        beside = [room.work] if self.artifact.others else []  # the script's own directory, as when it was run
        return room.environment(
            pythonpath=[*stand_ins(), self.kit.directory, *beside],
            variables=variables,
            cache_directories=self.profile.environment.cache_directories,
        )

    def _start_kit(self, stack: contextlib.ExitStack) -> Streams:
        """The kit in processes of its own, one for each world size of the cross-check; the first reads the streams."""
        room = stack.enter_context(Room(limits=self.profile.room))
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

    def _read_kit(self, streams: Streams, seconds: float) -> None:
        """Wait for the kit's tokens and look at its data, part of which goes on while the model is scored."""
        self.doing = "reading the kit's tokens"
        streams.wait(seconds)
        self.findings += data.table(self.source, self.profile, streams.facts, streams.token_bytes.tolist())
        self.wanted, lacking = data.enough(self.source, streams, self.wanted)
        self.findings += lacking
        if not self.wanted:
            raise StreamError("no settings have enough tokens")
        data.begin_overlap(self.profile, self.kits[1], sorted({settings.split for _, settings in self.wanted}))

    def _start_host(self, stack: contextlib.ExitStack) -> Place:
        """A model's room holds the submission, the checkpoint, and of the kit's data what the profile names."""
        data, kit = self.kit.cache_dir, self.kit.directory
        room = stack.enter_context(Room(limits=self.profile.room, secret=() if kit.is_relative_to(data) else [data]))
        given = room.root / "kit-data"
        given.mkdir()
        for path in self.kit.model_data(self.profile.kit.model_files):
            (given / path).parent.mkdir(parents=True, exist_ok=True)
            (given / path).write_bytes((self.kit.cache_dir / path).read_bytes())
        train_py, checkpoint = self._give(room)
        machine = self.profile.machine
        environment = self._environment(room, given)
        host = HostProcess(
            room,
            machine.device,
            machine.device_module,
            environment,
            self.profile.budget.eval_timeout_seconds + START_SECONDS,
            int(MEMORY_SHARE * psutil.virtual_memory().available),
        )
        submitted = Submitted(train_py, checkpoint, machine.device, self.profile.evaluation.hook)
        return Place(room, stack.enter_context(host), submitted, tuple(environment))

    @contextlib.contextmanager
    def _process(self, place: Place, tokens: int, vocabulary: int) -> Iterator[ModelProcess]:
        """A model process of a place; at its end, however it comes, what it did beside computing becomes findings."""
        process = place.host.start(place.submitted, tokens, vocabulary)
        try:
            yield process
            self.doing = "the end"
            after = process.finish()
            if after is not None:
                self.findings.append(conduct.unasked(self.source, after, "after its last reply"))
        finally:
            process.close()
            place.host.finish()
            self.network, self.protections = place.host.network, place.host.protections
            self.notes += process.notes
            heard = conduct.notes(self.source, process.notes, place.room.root)
            if process.foreign_note is not None:
                heard.append(conduct.unasked(self.source, process.foreign_note, "while it was scored"))
            heard += conduct.left(self.source, place.room.leftover_files(), place.host.left_processes, heard)
            told = {(found.code, found.artifact_line) for found in self.findings}
            self.findings += [found for found in heard if (found.code, found.artifact_line) not in told]

    def _start_public(self, stack: contextlib.ExitStack) -> Public:
        room = stack.enter_context(Room(limits=self.profile.room))
        train_py, checkpoint = self._give(room)
        settings = self.profile.evaluation.public
        environment = self._environment(room, self.kit.cache_dir)
        public = Public(room, self.kit, self.profile.kit, train_py, checkpoint, settings, environment)
        stack.callback(public.close)
        return public

    def _give(self, room: Room) -> tuple[Path, Path]:
        """The files that the receipt names, and no others that have taken their place since."""
        assert self.checkpoint is not None
        given = []
        for name, path, sha256 in (
            (self.profile.launch.script, self.artifact.train_py, self.artifact.sha256),
            (self.profile.files.checkpoint, self.path, self.checkpoint.sha256),
            *((str(other.member), other.train_py, other.sha256) for other in self.artifact.others),
        ):
            content = path.read_bytes() if path.is_file() else b""
            if hashlib.sha256(content).hexdigest() != sha256:
                message = f"{path.name} is not the file any more that it was when the scoring began"
                raise SubmissionError(self.source.raise_at(checkpoints.CKP005, message, None))
            given.append(room.give(name, content))
        return given[0], given[1]

    def _slot_tokens(self) -> int:
        """Room for the largest batch: of any measurement, and of the purity tests with their longest rows."""
        official, tests = self.profile.evaluation.official, self.profile.evaluation.purity
        largest = max(settings.batch_size * settings.seq_len for _, settings in self.wanted)
        longest = max(settings.seq_len for _, settings in self.wanted)
        return max(
            largest,
            max(self._purity_rows(), official.batch_size) * official.seq_len,
            2 * round(max(tests.length_factors) * official.seq_len),
            max(tests.batch_sizes) * longest,
        )

    def _purity_rows(self) -> int:
        """Rows for the purity tests: two different batches."""
        return 2 * max(4, self.profile.evaluation.purity.tokens // self.profile.evaluation.official.seq_len)

    # --- Tests ---

    def _look_at(self, process: ModelProcess, when: str, *, stopping: bool) -> None:
        """Ask a process what the submission did beside computing."""
        told = process.call("conduct")
        assert isinstance(told, Conduct)
        isolated(self.record, self.source, told, when)
        if stopping:
            self.launches = dict(told.launches)
        known = {str(change) for found in self.findings for change in found.evidence.get("changed", ())}
        new = [change for change in told.changed if change not in known]
        self.findings += conduct.surroundings(self.source, new, when, self.record.line)

    def _test(self, model: Model, streams: Streams, place: Place) -> None:
        """What was scored once more, then every test of purity."""
        official, rules = self.profile.evaluation.official, self.profile.evaluation.purity
        assert self.sampler is not None
        assert self.checkpoint is not None
        first = self.evaluations[0]
        tested = streams.purity_rows(self._purity_rows(), official.seq_len)
        model.observe(tested[:1])
        scored_rows.verify(
            model, self.record, rules, self.sampler.samples, self.profile.evaluation.agreement_bpb,
            first.num_bytes / first.num_tokens,
        )  # fmt: skip
        self.findings += loading.check_weights(model, self.path, self.checkpoint, self.profile.files)
        scored = streams.purity_rows(official.batch_size, official.seq_len)
        bench = purity.check(model, tested, scored, rules, self.record)
        surroundings.unregistered(bench)
        if self.record.has_failed(purity.STATE):
            return
        scratch = place.room.tmp / "elsewhere"
        scratch.mkdir()
        variants = surroundings.variants(place.submitted, self.profile, place.kept, self.hello["neuron"], scratch)
        surroundings.indifferent(bench, variants)
        surroundings.other_dtypes(bench)

    def _evaluate_by_kit(self, model: Model, streams: Streams) -> None:
        self.say("the kit's own evaluation of the same model")
        self.findings += data.end_overlap(self.source, self.profile, self.kits[1])
        for process in self.kits.values():
            process.map(self._slot_tokens(), streams.vocabulary)
        measured, found = official.evaluate(
            self.source, self.profile, self.kits, streams, model.answer, self.evaluations
        )
        self.evaluations += measured
        self.findings += found

    def _check_causality(self, model: Model) -> None:
        self.kit_checks, found = official.causality(
            self.source, self.profile, self.kits[1], model.answer, self.record.findings, CAUSALITY.code
        )
        self.findings += found

    def _compare_public(self, public: Public) -> None:
        limit = self.profile.budget.eval_timeout_seconds + START_SECONDS
        try:
            measured = public.result(limit, self.profile.machine.device)
        except PublicError as error:
            at = self.source.loader()
            self.findings.append(self.source.raise_at(agreement.SCR005, str(error), at))
            return
        self.evaluations.append(measured)
        self.findings += agreement.with_public(self.source, self.profile, measured, self.evaluations)

    # --- The receipt ---

    def receipt(self) -> Receipt:
        """All that was found, as the trusted lane's receipt."""
        self.findings += self.record.findings
        self._withhold()
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
            purity=self.record.tests,
            purity_seconds=self.purity_seconds,
            purity_seed=None if self.sampler is None else self.sampler.seed,
            scoring_launches=self.launches,
            observed_findings=[found.model_dump(mode="json") for found in self.findings],
        )

    def _withhold(self) -> None:
        """Leave no number where one may be wrong, and say why there is none."""
        rules = self.profile.rules
        wrong = [
            found
            for found in self.findings
            if found.code in NO_NUMBER and rules.get(found.code, found.severity.value) == Severity.HARD.value
        ]
        if wrong and self.problem is None:
            self.problem = f"no score: {wrong[0].code} {wrong[0].message}"
        if self.problem is not None:
            self.evaluations = []

    def _problem_site(self) -> Site | None:
        line = self.findings[-1].artifact_line if self.problem and self.findings else None
        return Site(file=self.profile.launch.script, line=line) if line is not None else None

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
            devices=self.loaded.devices if self.loaded else [],
            knobs={},
            parameters=[
                Parameter(name=name, shape=shape, dtype=dtype, device=device)
                for name, shape, dtype, device in (self.loaded.parameters if self.loaded else [])
            ],
            updates=[],
            census_update=None,
            census=[],
            events=[
                Event(
                    kind=note.kind,
                    detail=Path(note.detail).name,
                    site=Site(file=self.profile.launch.script, line=note.line),
                )
                for note in self.notes
            ],
            observer_seconds=0.0,
        )
