"""The clean build with its receipts, a mutant's own run, and what the comparison says of the two."""

from __future__ import annotations

import ast
import collections
import os
import shutil
import tempfile
import time
from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

from builder.produce import produce
from parity_tests import forked
from parity_tests.mutants.mutators import Tree
from parity_tests.mutants.places import ROOT, Mutant
from scorer.artifact import Artifact
from scorer.compare import compare
from scorer.compare.files import WORDS
from scorer.contest import load
from scorer.findings import Finding
from scorer.room import checkpoint, log, records
from scorer.room.kit import ensure_kit
from scorer.room.lane import LaneSpec, observed, run_lane
from scorer.room.launch import parse, parse_local
from scorer.room.observer.settings import VARIABLE
from scorer.room.receipts import Calls, Checkpoint, Clock, Event, Lane, Outcome, Rank, Receipt
from scorer.room.stand_in import stand_ins
from scorer.trusted import agreement
from scorer.trusted import settings as ways
from scorer.trusted.judge import score
from scorer.trusted.sources import Source

CONFIG = "small"
LOG = "log.txt"
TIMEOUT = 600.0  # seconds of a lane that takes eight on a quiet machine
ALL_UPDATES = 1_000_000
SAME = "the whole run makes the same calls with the same values, prints and saves the same"
UNREACHED = "its lines are not executed"

Fate = Literal["killed", "survived", "stillborn", "equivalent"]


@dataclass(frozen=True)
class Result:
    """What became of one mutant."""

    fate: Fate
    said: str  # the first finding, why it is equivalent, or what ended it
    code: str | None = None
    on_line: bool = False  # the finding names a line of the statement that was changed
    in_function: bool = False  # ... or of the function around it
    seconds: float = 0.0


class Clean:
    """The clean recipe's artifact and the receipts of its lanes, made once in an empty directory."""

    def __init__(self, directory: Path) -> None:
        """Build and run: about half a minute. Raises RuntimeError unless the clean comparison has no finding."""
        profile = load("embedded")
        budget = profile.budget.model_copy(update={"run_timeout_seconds": TIMEOUT})
        self.profile = profile.model_copy(update={"budget": budget})
        self.kit = ensure_kit(profile)
        self.directory = directory
        self.artifact = self._build()
        plan = parse(self.artifact.launch_command, self.profile.launch)
        words = self.artifact.launch_command.split()
        program = words.index(self.profile.launch.script)
        self.local_plan = parse_local(" ".join([*words[:program], "-m", "recipe", "--config", CONFIG]))
        self.clock = Clock(kind="virtual", seconds_per_update=self.profile.lockstep.virtual_seconds_per_update)
        spec = LaneSpec(lane=Lane.ARTIFACT, plan=plan, source=self.artifact, clock=self.clock, caches="warm")
        control = LaneSpec(
            lane=Lane.CONTROL, plan=plan, source=self.artifact, clock=self.clock, caches="warm", perturb=True,
            stop_after_window=True,
        )  # fmt: skip
        ran = run_lane(spec, self.profile, self.kit, directory / "lane")
        self.receipts = {
            Lane.ARTIFACT: ran,
            Lane.CONTROL: run_lane(control, self.profile, self.kit, directory / "control"),
        }
        self.local = LaneSpec(lane=Lane.LOCAL, plan=self.local_plan, source=ROOT, clock=self.clock, caches="warm")
        local = self.clean_local = run_lane(self.local, self.profile, self.kit, directory / "local")
        checkpoint = directory / "lane" / self.profile.files.checkpoint
        self.receipts[Lane.TRUSTED] = score(self.artifact, checkpoint, self.profile, self.kit, local)
        for receipt in (local, self.run(ROOT)):
            if receipt.outcome is not Outcome.COMPLETE or (problems := self.findings(receipt)):
                told = receipt.problem or f"{problems[0].code} {problems[0].message}"
                raise RuntimeError(f"the clean recipe is not clean: {told}: mend that first")

    @property
    def places(self) -> set[tuple[str, int]]:
        """The recipe's lines that are in the artifact."""
        return {(place.file, place.line) for place in self.artifact.places or () if place is not None}

    def run(self, root: Path, *, whole: bool = False) -> Receipt:
        """The receipt of the recipe in `root`, as its local lane leaves it.

        `whole`: every call up to the process's end is followed, not those of the first updates only.
        """
        with tempfile.TemporaryDirectory(prefix="mutant-run-") as directory:
            room = Path(directory)
            work, journals = room / "work", room / "records"
            work.mkdir()
            journals.mkdir()
            settings = observed(
                self.local, self.profile, self.kit, records=journals, root=root, work=work, code=[root], writable=[work]
            )
            if whole:
                settings = replace(settings, census_update=ALL_UPDATES)
            settings.write(room / "observe.json")
            program = forked.Program(
                command=("-m", "recipe", "--config", CONFIG),
                work=work,
                path=(str(root), str(self.kit.directory), *map(str, stand_ins())),
                environment={
                    **os.environ,
                    self.profile.kit.cache_variable: str(self.kit.cache_dir),
                    **self.local_plan.environment,
                    **{"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", VARIABLE: str(room / "observe.json")},
                },
                log=work / LOG,
            )
            code = forked.run(program)
            return self._receipt(code, work, journals)

    def _receipt(self, code: int | None, work: Path, journals: Path) -> Receipt:
        """The clean local lane's receipt with what this run computed, printed and saved."""
        lines = (work / LOG).read_text("utf-8").splitlines() if (work / LOG).is_file() else []
        told = self.profile.files.checkpoint
        saved = checkpoint.inspect(work / told, told, self.profile.files) if (work / told).is_file() else None
        read = records.read_all(journals, lambda text: text)
        clean = self.clean_local.ranks[0]
        of_the_machine = ("python", "argv", "environment_start", "environment_end", "packages")
        same = {name: getattr(clean, name) for name in of_the_machine}

        def events(rank: Rank) -> list[Event]:
            """What this run does with files; what is imported and set is the room's."""
            return [
                *(event for event in clean.events if event.kind not in WORDS),
                *(event for event in rank.events if event.kind in WORDS),
            ]

        return self.clean_local.model_copy(
            update={
                "outcome": Outcome.COMPLETE if code == 0 and read and read[0].ended else Outcome.FAILED,
                "exit_code": code,
                "problem": None if code == 0 else next((line for line in reversed(lines) if line.strip()), "no end"),
                "ranks": [journal.rank.model_copy(update={**same, "events": events(journal.rank)}) for journal in read],
                "checkpoint": saved,
                "summary": log.summary(lines, self.profile.log),
                "log_steps": log.steps(lines, self.profile.log),
                "log_tail": lines,
            }
        )

    @cached_property
    def footprint(self) -> Hashable:
        """All that a run of the clean recipe does."""
        return footprint(self.run(ROOT, whole=True))

    def findings(self, local: Receipt) -> list[Finding]:
        """What a parity run with this local lane finds, the most telling first.

        The score was taken once, beside the clean recipe's lane: what the judge says of another lane's own evaluation
        is asked for here.
        """
        trusted = self.receipts[Lane.TRUSTED]
        assert trusted.checkpoint is not None
        source = Source(self.artifact, self.profile)
        try:
            measured = ways.local_settings(local)
        except ValueError as error:
            said = [source.raise_at(agreement.SCR007, str(error), None)]
        else:
            said = [] if measured is None else agreement.with_recipe(
                source, self.profile, local, trusted.checkpoint, measured, trusted.evaluations
            )  # fmt: skip
        scored = trusted.model_copy(update={"observed_findings": [one.model_dump(mode="json") for one in said]})
        receipts = {**self.receipts, Lane.LOCAL: local, Lane.TRUSTED: scored}
        return compare(self.artifact, receipts, [], self.profile).findings

    def _build(self) -> Artifact:
        made = produce(ROOT / "recipe/build.yaml", ROOT / f"recipe/configs/{CONFIG}.yaml")
        folder = self.directory / "artifact"
        folder.mkdir()
        for name, data in made.files.items():
            (folder / name).write_bytes(data)
        return Artifact.load(folder)


def footprint(receipt: Receipt) -> Hashable:
    """All that a run did: every call with its value, how often; what it printed, saved, read and asked for.

    In which order within an update is left out: what does not depend on each other may change places.
    """
    calls = [
        (rank.rank, of.update, frozenset(collections.Counter(_named(of, text) for text in of.calls).items()))
        for rank in receipt.ranks
        for of in rank.calls
    ]
    done = frozenset((event.kind, event.detail) for rank in receipt.ranks for event in rank.events)
    printed = tuple(line for line in receipt.log_tail if not line.startswith("[W"))  # torch's, with the time of day
    return receipt.outcome, tuple(calls), done, printed, _saved(receipt.checkpoint)


def _saved(found: Checkpoint | None) -> Hashable:
    """What a checkpoint holds, by name: in which order its tensors lie in the file tells no one that loads it."""
    if found is None:
        return None
    return found.readable, frozenset(found.tensors.items()), frozenset(found.tensor_hashes.items()), str(found.meta)


def _named(calls: Calls, text: str) -> tuple[str, str, str]:
    number, _, value = text.partition(" ")
    kind = calls.kinds[int(number)]
    return kind.operator, kind.signature, value


def try_out(clean: Clean, mutant: Mutant, reason: str | None) -> Result:
    """Run one mutant and compare. `reason`: why it is known to be equivalent, which a finding refutes."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mutant-") as directory:
        root = Path(directory)
        shutil.copytree(ROOT / "recipe", root / "recipe", ignore=shutil.ignore_patterns("__pycache__"))
        (root / mutant.file).write_text(mutant.text(), "utf-8")
        result = _tried(clean, mutant, root, reason)
    return replace(result, seconds=time.monotonic() - began)


def _tried(clean: Clean, mutant: Mutant, root: Path, reason: str | None) -> Result:
    local = clean.run(root)
    if local.outcome is not Outcome.COMPLETE:
        return Result("stillborn", local.problem or local.outcome.value)
    found = clean.findings(local)
    if found:
        return killed(mutant, found[0])
    if reason is not None:
        return Result("equivalent", reason)
    if footprint(clean.run(root, whole=True)) == clean.footprint:
        return Result("equivalent", SAME)
    (root / mutant.file).write_text(stopping(mutant), "utf-8")
    unreached = clean.run(root).outcome is Outcome.COMPLETE
    return Result("equivalent", UNREACHED) if unreached else Result("survived", "no finding")


def killed(mutant: Mutant, first: Finding) -> Result:
    """A mutant that the comparison found, and whether it was found where it is."""
    where = first.place
    same_file = where is not None and where.file == mutant.file
    line = where.line if where is not None and same_file else 0
    said = f"{first.code} at {where or 'no place'}: {first.message}"
    on_line = mutant.edit.span[0] <= line <= mutant.edit.span[1]
    in_function = on_line or mutant.function[0] <= line <= mutant.function[1]
    return Result("killed", said, first.code, on_line, in_function)


def stopping(mutant: Mutant) -> str:
    """The clean file with an error before the statement that the mutant changes."""
    source = (ROOT / mutant.file).read_text("utf-8")
    tree = Tree(source)
    line = mutant.edit.span[0]
    around = [
        node
        for node in ast.walk(tree.root)
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or line)
    ]
    statement = max(around, key=lambda node: (node.lineno, node.col_offset))
    start = tree.range(statement)[0] - statement.col_offset
    return f'{source[:start]}{" " * statement.col_offset}raise RuntimeError("reached")\n{source[start:]}'
