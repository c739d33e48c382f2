"""Running one lane: a program in a clean room, watched, and what is known of it afterwards in a receipt.

    receipt = run_lane(spec, profile, kit, keep=Path("build/report/artifact"))

A run that fails in any way still leaves a receipt that says how far it came and what went wrong. The room itself is
removed; `keep` holds the log and the checkpoint.
"""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import scorer
from scorer.artifact import Artifact
from scorer.contest import Profile
from scorer.files import sha256_file, sha256_tree, write_atomic
from scorer.findings import Finding, Place, define, finding
from scorer.room import accounts, bounds, checkpoint, flames, log, records, timing, values
from scorer.room import variables as variables_of_room
from scorer.room.cleanroom import Room, RoomProcess, StoppedError, guard, stopping
from scorer.room.kit import KitPaths, cache_root
from scorer.room.launch import LaunchPlan
from scorer.room.observer.settings import VARIABLE, Settings
from scorer.room.receipts import (
    Checkpoint,
    Clock,
    Event,
    Lane,
    Launch,
    Outcome,
    Receipt,
    Site,
    Subject,
)
from scorer.room.stand_in import NEURON, stand_in_variables, stand_ins
from scorer.room.turns import Turns

OBSERVER = Path(__file__).parent / "observer"
LOG_NAME = "log.txt"
TAIL_LINES = 40
POLL_SECONDS = 0.1
FULL_DISK_BYTES = 1 << 16
LONGEST_LOG_BYTES = 16 << 20
RANK_KILLED = re.compile(r"exitcode\s*:\s*(-\d+)\)\s*local_rank\s*:\s*(\d+)")

FAILED = define(
    "RUN001",
    title="The run failed",
    why="A program that ends with an error leaves no score, or one of an unfinished run.",
    remedy="Read the error and its line; `keep/log.txt` of the lane holds the whole output.",
)
TIMED_OUT = define(
    "RUN002",
    title="The run was ended after the time limit",
    why="The contest's runner ends a program that overruns; whatever it had not saved by then is lost.",
    remedy="Find what it waited for in the last lines of the log; make the program stop by its own clock.",
)
MISSING_MODULE = define(
    "RUN003",
    title="A module that the program imports is not there",
    why="The clean room holds what the scoring machine holds: the submission, the kit and the machine's packages.",
    remedy="Inline the module into the file, or drop the import.",
)
WROTE_OUTSIDE = define(
    "RUN004",
    title="The program wrote outside the output directory",
    why="Reviewers refuse a submission that writes elsewhere, and the scoring machine may not let it.",
    remedy="Write below the output directory, or not at all.",
)
LEFT_PROCESS = define(
    "RUN005",
    title="A process was still running after the program's end",
    why="What outlives the run can touch the next one, and the scoring machine kills it.",
    remedy="Join or terminate what the program starts before it ends.",
)
LEFT_FILE = define(
    "RUN006",
    title="The run left files outside the output directory",
    why="Only the output directory is the program's; other files are writes that the review refuses.",
    remedy="Write below the output directory, or remove temporary files.",
)
NO_CHECKPOINT = define(
    "RUN007",
    title="The run ended well, yet left no checkpoint",
    why="Without the checkpoint file there is nothing to score.",
    remedy="Save to the path that the contest names, before the budget ends.",
)
SUBPROCESS = define(
    "RUN008",
    title="The program started another process",
    why="A submission is one program; what a subprocess does is neither reviewed nor observed.",
    remedy="Do the work in the process, or leave it out.",
)
CONNECTED = define(
    "RUN009",
    title="The program opened a network connection",
    why="The contest allows no network but the ranks' own.",
    remedy="Remove the connection; ship nothing but the file.",
)
FOREIGN_IMPORT = define(
    "RUN010",
    title="The program imported code from outside the room",
    why="It ran with a module that the scoring machine does not have: there it fails, or finds another one.",
    remedy="Build the code into the file; take the project's folder off the interpreter's path.",
)
INCOMPLETE_RECORD = define(
    "RUN011",
    title="A rank left no complete record of its run",
    why="What was not observed cannot be compared, so the run proves nothing.",
    remedy="Do not end ranks with os._exit or by a signal; see that the disk has room.",
)
UNCOUNTED_KERNELS = define(
    "RUN012",
    title="Kernel launches could not be counted",
    why="Without the counts nobody knows whether the kernels ran or something else did.",
    remedy="Use a version of the Neuron SDK whose nki module has the class Kernel.",
)
CHANGED_ITSELF = define(
    "RUN013",
    title="The program changed its own file",
    why="The bytes that ran to the end are not the bytes that were submitted.",
    remedy="Leave train.py alone.",
)

READ_OUTSIDE = define(
    "RUN019",
    title="The program read a file outside the room",
    why="A submission trains on the kit's data alone; what else lies on a machine is other data, or is not there.",
    remedy="Read the kit's data by the kit; compute or inline what the file held.",
)
READ_VALIDATION = define(
    "RUN020",
    title="The program read validation data by itself",
    why="Validation data that reach training, by whatever way, make the score worthless.",
    remedy="Leave validation to the kit's own evaluation.",
)
MISSING_PACKAGE = define(
    "RUN021",
    title="The program imports a package that the scoring machine lacks",
    why="It is installed here, so the run went well; there the import fails.",
    remedy="Inline what is used of it, or do without; the profile's machine.packages are those that are there.",
)

# What holds for a submission is the author's own business in the recipe's lane.
_OF_SUBMISSIONS = (Lane.ARTIFACT, Lane.REHEARSAL)


@dataclass(frozen=True)
class LaneSpec:
    """What to run. `source` is the artifact, or the root directory of a recipe."""

    lane: Lane
    plan: LaunchPlan
    source: Artifact | Path
    clock: Clock
    environment: dict[str, str] = field(default_factory=dict)  # beside the launch string's own, e.g. the author's
    imposed: dict[str, str | None] = field(default_factory=dict)  # set whatever the contest rules; None: taken away
    perturb: bool = False
    stop_after_window: bool = False
    compared: bool = True  # bit for bit with another run: tensors are hashed and operators counted in the window
    caches: str = "cold"  # or "warm": compile caches that outlive the room
    observe: bool = True
    without: tuple[str, ...] = ()  # protections of the room that are not asked for
    deal_as: int | None = None  # batches are those that so many ranks would read; None: as the kit deals them
    keep_values: bool = False  # keep the parameters' values after each update of the window beside the log
    account: bool = False  # keep accounts of the kernels' launches beside the log (accounts.py)
    profiled: tuple[int, ...] = ()  # updates whose time is told call by call, beside the log (flames.py)
    turns: Turns | None = None  # who says when an update may be made; None: nobody


def observed(
    spec: LaneSpec,
    profile: Profile,
    kit: KitPaths,
    *,
    records: Path,
    root: Path,
    work: Path,
    code: Sequence[Path],
    writable: Sequence[Path],
) -> Settings:
    """What a lane asks the observer for. `records`: where its journals go; `root` and `work`: of the program; `code`
    and `writable`: directories that it may import from and write to.
    """
    is_virtual = spec.clock.kind == "virtual"
    is_compared = is_virtual and spec.compared
    lockstep, functions = profile.lockstep, profile.kit.functions
    return Settings(
        records=str(records),
        root=str(root),
        not_program=[str(place) for place in (OBSERVER, NEURON, kit.directory)],
        code=[str(place) for place in code],
        writable=[str(place) for place in writable],
        work=str(work),
        stand_ins=str(NEURON),
        data=str(kit.cache_dir),
        kit=str(kit.directory),
        kit_module=profile.kit.module,
        dataloader=functions.dataloader,
        step_boundary=functions.step_boundary,
        evaluate=functions.evaluate,
        seconds_per_update=spec.clock.seconds_per_update if is_virtual else None,
        timeline=spec.clock.timeline.model_dump() if spec.clock.timeline else None,
        window=lockstep.window_updates if is_compared else 0,
        census_update=lockstep.census_update if is_compared else None,
        perturb=spec.perturb,
        stop_after_window=spec.stop_after_window,
        deal_as=spec.deal_as,
        keep_values=spec.keep_values,
        account=spec.account,
        profiled=list(spec.profiled),
        turns_from=spec.turns.first if spec.turns else None,
    )


def run_lane(
    spec: LaneSpec,
    profile: Profile,
    kit: KitPaths,
    keep: Path,
    progress: Callable[[str], None] | None = None,
) -> Receipt:
    """Run one lane to its end, or until the profile's time limit.

    `keep` receives the log and, at its path of the profile, the checkpoint; what it held of them before is removed.
    `progress` is called with one line per update. Raises StoppedError when the scorer itself is stopped, and OSError
    when the room cannot be made; whatever the program does ends in a receipt.
    """
    keep.mkdir(parents=True, exist_ok=True)
    for stale in (keep / profile.files.checkpoint, keep / LOG_NAME):
        stale.unlink(missing_ok=True)
    visible = [OBSERVER, kit.directory, kit.cache_dir]
    if not isinstance(spec.source, Artifact):  # a recipe is run as its author runs it, who may keep data at home
        visible += [Path.home(), Path.cwd()]
    official, public = profile.evaluation.official.split, profile.evaluation.public.split
    secret = [] if official == public else [kit.cache_dir / official]  # what scores is not on the training machine
    with guard(), Room(limits=profile.room, visible=visible, secret=secret, without=spec.without) as room:
        return _Run(spec, profile, kit, keep, room).receipt(progress)


class _Run:
    """One run in one room."""

    def __init__(self, spec: LaneSpec, profile: Profile, kit: KitPaths, keep: Path, room: Room) -> None:
        self.spec, self.profile, self.kit, self.keep, self.room = spec, profile, kit, keep, room
        self.records = room.records
        self.output = room.work / profile.files.output_directory
        self.log = room.control / LOG_NAME
        self.root = room.work if isinstance(spec.source, Artifact) else spec.source.resolve()
        self.findings: list[Finding] = []

    def receipt(self, progress: Callable[[str], None] | None) -> Receipt:
        """Run, then collect."""
        subject = self._prepare()
        launched = time.monotonic()
        with self.log.open("wb") as output, self._taking_turns():
            process = self.room.popen(self._command(), self._environment(), stdout=output, stderr=subprocess.STDOUT)
            exit_code = self._follow(process, launched, progress)
        ended = process.ended_at or time.monotonic()
        journals = records.read_all(self.records, self._rename)
        lines = self._read_log()
        outcome, problem, site = self._judge_end(exit_code, process, journals, lines)
        kept, not_kept = self._keep(outcome)
        if self.spec.keep_values:
            values.collect(self.records, self.keep)
        if self.spec.account:
            accounts.collect(self.records, self.keep)
        if self.spec.profiled:
            flames.collect(self.records, self.keep)
        if not_kept is not None:
            outcome, problem, site = Outcome.FAILED, problem or not_kept, site
        left_files = self.room.leftover_files(allowed=[self.profile.files.output_directory])
        left_processes = [self._rename(line) for line in process.left]
        if self.spec.lane in _OF_SUBMISSIONS:
            self._judge_conduct(journals, left_files, left_processes)
        return Receipt(
            scorer_version=scorer.__version__,
            lane=self.spec.lane,
            outcome=outcome,
            exit_code=exit_code,
            problem=problem,
            problem_site=site,
            profile=self.profile.name,
            profile_version=self.profile.version,
            subject=subject,
            kit=self.kit.record,
            launch=Launch(
                text=self.spec.plan.text,
                environment=self.spec.plan.environment,
                nproc_per_node=self.spec.plan.nproc_per_node,
                program=self.spec.plan.program,
            ),
            clock=self.spec.clock,
            caches=self.spec.caches,
            network="none" if process.network == "none" else "not isolated",
            protections=process.protections,
            ranks=[journal.rank for journal in journals],
            time=timing.split(launched, ended, journals, self.profile.budget.startup_updates_excluded),
            checkpoint=kept,
            evaluations=[],
            summary=log.summary(lines, self.profile.log),
            log_steps=log.steps(lines, self.profile.log),
            log_tail=lines[-TAIL_LINES:],
            left_files=left_files,
            left_processes=left_processes,
            observed_findings=[found.model_dump(mode="json") for found in self.findings],
        )

    # -- before --------------------------------------------------------------------------------------------------

    def _prepare(self) -> Subject:
        """Put the program into the room, and the observer's settings beside it."""
        source = self.spec.source
        if isinstance(source, Artifact):
            content = source.train_py.read_bytes()
            self.room.give(self.profile.launch.script, content)
            for other in source.others:
                self.room.give(str(other.member), other.train_py.read_bytes())
            manifest = source.train_py.parent / "manifest.json"
            with_manifest = source.manifest is not None and manifest.is_file()
            subject = Subject(
                kind="file",
                sha256=source.sha256,
                manifest_sha256=sha256_file(manifest) if with_manifest else None,
                others={str(other.member): other.sha256 for other in source.others},
            )
        else:
            subject = Subject(kind="recipe", sha256=sha256_tree(self._tree()))
        kit = self.kit.directory
        observed(
            self.spec,
            self.profile,
            self.kit,
            records=self.records,
            root=self.root,
            work=self.room.work,
            code=(self.root, self.room.root, OBSERVER, NEURON, kit, self._caches()),
            writable=(self.output, self.room.tmp, self.room.home, self._caches(), self.records),
        ).write(self._settings_file())
        return subject

    @contextmanager
    def _taking_turns(self) -> Iterator[None]:
        """Pipes for the ranks' turns, where somebody gives them."""
        if self.spec.turns is None:
            yield
            return
        self.spec.turns.open(self.records, self.spec.plan.nproc_per_node)
        try:
            yield
        finally:
            self.spec.turns.close()

    def _tree(self) -> Path:
        """The directory of a recipe that its hash covers: the package that is run, or the script's own folder."""
        program = self.spec.plan.program
        if program[0] == "-m":
            package = self.root / program[1].split(".")[0]
            return package if package.is_dir() else self.root
        return (self.root / program[0]).parent

    def _settings_file(self) -> Path:
        return self.room.control / "observe.json"

    def _caches(self) -> Path:
        if self.spec.caches == "cold":
            return self.room.caches
        shared = cache_root().resolve() / "room-caches"
        shared.mkdir(parents=True, exist_ok=True)
        return shared

    def _command(self) -> list[str]:
        """The launch string's words, as they are. A recipe's script lies in its root, not in the room."""
        plan = self.spec.plan
        program = list(plan.program)
        if not isinstance(self.spec.source, Artifact) and program[0] != "-m":
            program[0] = str(self.root / program[0])
        return [*plan.launcher, f"{plan.nproc_option}={plan.nproc_per_node}", *program]

    def _environment(self) -> dict[str, str]:
        observer = [OBSERVER / "path"] if self.spec.observe else []
        program = [] if isinstance(self.spec.source, Artifact) else [self.root]
        given = {**self.spec.environment, **self.spec.plan.environment}
        variables = {
            self.profile.kit.cache_variable: str(self.kit.cache_dir),
            **stand_in_variables(self.profile),
            **({VARIABLE: str(self._settings_file())} if self.spec.observe else {}),
            **(variables_of_room.passed(given, self.profile) if isinstance(self.spec.source, Artifact) else given),
        }
        environment = self.room.environment(
            pythonpath=[*observer, *stand_ins(), self.kit.directory, *program],
            variables=variables,
            caches=self._caches(),
            cache_directories=self.profile.environment.cache_directories,
        )
        imposed = {**environment, **self.spec.imposed}
        return {name: value for name, value in imposed.items() if value is not None}

    # -- while ---------------------------------------------------------------------------------------------------

    def _follow(self, process: RoomProcess, launched: float, progress: Callable[[str], None] | None) -> int | None:
        """Wait for the end, telling of each update; None when the time limit ended the run."""
        limit = launched + self.profile.budget.run_timeout_seconds
        follower = _Follower(self.records / "rank-0.jsonl")
        while (code := process.poll()) is None:
            if stopping():
                raise StoppedError("the scorer was asked to stop")
            if time.monotonic() >= limit:
                process.stop()
                return None
            if progress is not None:
                for line in follower.news():
                    progress(f"{self.spec.lane.value}: {line}")
            time.sleep(POLL_SECONDS)
        return code

    # -- after ---------------------------------------------------------------------------------------------------

    def _judge_end(
        self, exit_code: int | None, process: RoomProcess, journals: list[records.Journal], lines: list[str]
    ) -> tuple[Outcome, str | None, Site | None]:
        """How the run ended; the first cause goes into the receipt and, with its place, into a finding."""
        if exit_code is None:
            limit = self.profile.budget.run_timeout_seconds
            done = max((len(journal.rank.updates) for journal in journals), default=0)
            problem = f"still running after {limit:g} s (the profile's run_timeout_seconds), {done} updates made"
            self._find(TIMED_OUT, problem)
            return Outcome.TIMED_OUT, problem, None
        if process.exceeded is not None:
            over = process.exceeded
            problem = self._rename(f"{bounds.of_room(over)}; {_last_line(lines)}")
            evidence = {"limit": over.limit, "allowed": over.allowed, "used": over.used}
            self._find(bounds.OVER_LIMIT, problem, evidence=evidence)
            return Outcome.FAILED, problem, None
        problems = sorted((j.problem for j in journals if j.problem is not None), key=lambda problem: problem.at)
        killed = None if exit_code == 0 else _killed(lines)
        if exit_code != 0 and problems and not killed:
            first = problems[0]
            problem = f"rank {first.rank}: {first.type}: {first.message}"
            if met := bounds.met(f"{first.type}: {first.message}"):
                problem = f"{bounds.of_process(met, self.profile.room)}; {problem}"
                self._find(bounds.OVER_LIMIT, problem, first.site, rank=first.rank, evidence={"limit": met})
                return Outcome.FAILED, problem, first.site
            code = MISSING_MODULE if first.type == "ModuleNotFoundError" else FAILED
            self._find(code, problem, first.site, rank=first.rank)
            return Outcome.FAILED, problem, first.site
        if killed and (met := bounds.met(killed)):
            problem = f"{bounds.of_process(met, self.profile.room)}; {killed}; {_last_line(lines)}"
            self._find(bounds.OVER_LIMIT, problem, evidence={"limit": met})
            return Outcome.FAILED, problem, None
        if exit_code != 0:
            problem = process.problem or killed or self._full_disk() or _last_words(exit_code, lines)
            self._find(FAILED, problem)
            return Outcome.FAILED, problem, None
        if self.spec.observe:
            missing = sorted(set(range(self.spec.plan.nproc_per_node)) - {j.rank.rank for j in journals if j.ended})
            if missing:
                ranks = ", ".join(map(str, missing))
                problem = f"the program ended with exit code 0, but the record of rank {ranks} is incomplete"
                self._find(INCOMPLETE_RECORD, problem)
                return Outcome.FAILED, problem, None
        return Outcome.COMPLETE, None, None

    def _keep(self, outcome: Outcome) -> tuple[Checkpoint | None, str | None]:
        """Take the log and the checkpoint out of the room and describe the latter; or say why that was not possible."""
        told = self.profile.files.checkpoint
        path, kept = self.room.work / told, self.keep / told
        try:
            write_atomic(self.keep / LOG_NAME, self._log_bytes())
            if path.is_file() and not path.is_symlink():
                kept.parent.mkdir(parents=True, exist_ok=True)
                shutil.move(path, kept)
                return checkpoint.inspect(kept, told, self.profile.files), None
        except OSError as error:
            kept.unlink(missing_ok=True)
            problem = f"the log and the checkpoint cannot be kept in {self.keep.name}: {error.strerror or error}"
            self._find(FAILED, problem)
            return None, problem
        ended_by_us = self.spec.stop_after_window or any(self.records.glob("stopped-*"))
        if outcome is Outcome.COMPLETE and not ended_by_us:
            self._find(NO_CHECKPOINT, f"{told} is not there after the run")
        return None, None

    def _full_disk(self) -> str | None:
        """A program that finds the disk full may not even be able to say so."""
        free = shutil.disk_usage(self.room.root).free
        return None if free > FULL_DISK_BYTES else f"the disk that holds the room is full ({free} bytes are free)"

    def _judge_conduct(self, journals: list[records.Journal], left_files: list[str], left_processes: list[str]) -> None:
        """Findings about what a submission did beside training."""
        # An import that ended the run, or that took code from outside of the room, has a finding of its own already.
        told = [j.problem.module or "" for j in journals if j.problem is not None]
        told += [event.detail for j in journals for event in j.rank.events if event.kind == "foreign-import"]
        absent = {name.partition(".")[0] for name in told}
        for journal in journals:
            connected: set[tuple[str, int]] = set()  # an address is looked up and then connected to, on one line
            for event in journal.rank.events:
                if event.kind == "connect" and event.site is not None:
                    if (event.site.file, event.site.line) in connected:
                        continue
                    connected.add((event.site.file, event.site.line))
                if event.kind != "import" or event.detail not in absent:
                    self._judge_use(event, journal.rank.rank)
                for code, kind, message in _CONDUCT:
                    if event.kind == kind and not self._is_allowed(event):
                        self._find(code, f"{message} {event.detail}", event.site, rank=journal.rank.rank)
            for code, message, site in variables_of_room.reads(journal.rank.events, self.profile):
                self._find(code, message, site, rank=journal.rank.rank)
        noted = {event.detail for j in journals for event in j.rank.events if event.kind in ("write", "save")}
        for file in left_files:
            if file.removeprefix("work/") not in noted:
                self._find(LEFT_FILE, f"left {file}")
        for line in left_processes:
            self._find(LEFT_PROCESS, f"still running: {line}")
        if isinstance(self.spec.source, Artifact):
            for given in (self.spec.source, *self.spec.source.others):
                path = self.room.work / (given.member or self.profile.launch.script)
                if not path.is_file() or sha256_file(path) != given.sha256:
                    self._find(CHANGED_ITSELF, f"{path.name} is not the file that was put into the room")

    def _judge_use(self, event: Event, rank: int) -> None:
        """Findings about what was read and imported."""
        if event.kind == "read":
            of_kit = event.detail.startswith("<kit data>")
            if any(split in event.detail for split in self.profile.review.validation_data):
                self._find(READ_VALIDATION, f"read {event.detail}", event.site, rank=rank)
            elif not of_kit:
                self._find(READ_OUTSIDE, f"read {event.detail}", event.site, rank=rank)
        elif event.kind == "import" and event.detail not in self.profile.machine.packages:
            self._find(MISSING_PACKAGE, f"imported {event.detail}", event.site, rank=rank)

    def _is_allowed(self, event: Event) -> bool:
        """Saves into the output directory, or into memory."""
        places = (f"{self.profile.files.output_directory}/", "<buffer>")
        return event.kind == "save" and event.detail.startswith(places)

    def _find(self, code: str, message: str, site: Site | None = None, rank: int | None = None, **fields: Any) -> None:
        """Raise a finding once: every rank runs the same lines."""
        place, artifact_line = None, None
        if site is not None and isinstance(self.spec.source, Artifact):
            place = self.spec.source.place_of(site, self.profile.launch.script)
            artifact_line = site.line if site.file == self.profile.launch.script else None
        elif site is not None:
            place = Place(file=site.file, line=site.line)
        found = finding(
            code,
            f"{self.spec.lane.value} lane: {message}",
            place=place,
            artifact_line=artifact_line,
            lane=self.spec.lane.value,
            rank=rank,
            **fields,
        )
        if all((known.code, known.message, known.place) != (code, found.message, place) for known in self.findings):
            self.findings.append(found)

    def _log_bytes(self) -> bytes:
        """The output; of a runaway one its beginning and its end."""
        size = self.log.stat().st_size
        if size <= LONGEST_LOG_BYTES:
            return self.log.read_bytes()
        with self.log.open("rb") as file:
            head = file.read(LONGEST_LOG_BYTES // 2)
            file.seek(size - LONGEST_LOG_BYTES // 2)
            return head + f"\n... {size - LONGEST_LOG_BYTES} bytes left out ...\n".encode() + file.read()

    def _read_log(self) -> list[str]:
        text = self._log_bytes().decode("utf-8", errors="backslashreplace")
        return [self._rename(line.rstrip("\r")) for line in text.split("\n")]

    def _rename(self, text: str) -> str:
        """Paths of this machine by what they are, so that receipts of two rooms can be compared."""
        names = {
            str(self.room.root): "<room>",
            str(OBSERVER): "<observer>",
            str(NEURON): "<stand-ins>",
            str(self.kit.cache_dir): "<kit data>",
            str(self.kit.directory): "<kit>",
            str(self._caches()): "<caches>",
            str(Path(sys.executable).parent): "<python>",
        }
        if not isinstance(self.spec.source, Artifact):
            names[str(self.root)] = "<recipe>"
        for path in sorted(names, key=len, reverse=True):
            text = text.replace(path, names[path])
        return text.encode(errors="backslashreplace").decode()  # JSON has no lone surrogates


_CONDUCT = (
    (WROTE_OUTSIDE, "write", "wrote"),
    (WROTE_OUTSIDE, "save", "saved to"),
    (SUBPROCESS, "subprocess", "started"),
    (CONNECTED, "connect", "connected to"),
    (FOREIGN_IMPORT, "foreign-import", "imported from outside the room:"),
    (UNCOUNTED_KERNELS, "uncounted-kernels", "not counted:"),
)


class _Follower:
    """Reads a journal as it grows."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[bytes] | None = None
        self._pending = b""

    def news(self) -> list[str]:
        """One line of text per update since the last call."""
        if self._file is None:
            if not self._path.exists():
                return []
            self._file = self._path.open("rb")
        self._pending += self._file.read()
        whole, newline, self._pending = self._pending.rpartition(b"\n")
        found = []
        for line in records.lines(whole + newline):
            if line["kind"] == "update":
                losses = [float.fromhex(loss) for loss in line["losses"]]
                mean = sum(losses) / len(losses) if losses else float("nan")
                found.append(f"update {line['update']}, loss {mean:.4f}")
        return found


def _killed(lines: list[str]) -> str | None:
    """A rank that was ended by a signal, from the launcher's own report: the other ranks' errors follow from it."""
    for line in lines:
        if match := RANK_KILLED.search(line):
            number = -int(match[1])
            # The launcher ends the other ranks by SIGTERM; libraries abort when they lose a peer.
            if number not in (signal.SIGTERM, signal.SIGABRT):
                name = signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
                return f"rank {match[2]} was killed by {name}"
    return None


def _last_words(exit_code: int, lines: list[str]) -> str:
    return f"exit code {exit_code}; {_last_line(lines)}"


def _last_line(lines: list[str]) -> str:
    said = next((line.strip() for line in reversed(lines) if line.strip()), "nothing")
    return f"the last line of output: {said}"
