"""Looks at what the kit's checks and the trusted judge make of a contest profile, without a model."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import torch

from parity_tests import receipts_factory
from parity_tests.room_programs import small_kit
from scorer.artifact import Artifact
from scorer.contest import Profile
from scorer.room import kit as kits
from scorer.room.checkpoint import inspect
from scorer.room.cleanroom import Room
from scorer.room.lane import LaneSpec, run_lane
from scorer.room.launch import LaunchPlan
from scorer.room.receipts import Clock, Lane
from scorer.room.stand_in import stand_ins
from scorer.trusted import audit, data, judge, official, streams
from scorer.trusted import checkpoint as checkpoints
from scorer.trusted import settings as ways
from scorer.trusted.kit_process import KitProcess, KitProcessError
from scorer.trusted.process import Submitted
from scorer.trusted.purity import memory, surroundings
from scorer.trusted.sources import Source

SUBMISSION = '''"""A submission that is read, never run."""
import prepare
import torch


def main():
    rank = prepare.get_dist_info()
    torch.save({}, "out/final.pt")


def load_for_eval(checkpoint_path, device):
    return None
'''
CALLS = {  # function -> parameters, as the embedded contest calls it
    "get_dist_info": "verbose",
    "print0": "*words",
    "ensure_tokenizer": "build_if_missing=False",
    "get_token_bytes": "device",
    "make_dataloader": "tokenizer, batch_size, seq_len, split, device, **options",
    "_row_groups_for_split": "split, start, step, shard_ids=None",
    "_document_batches": "split, start, step, tokenizer_batch_size=128, shard_ids=None",
    "evaluate_bpb": "model, tokenizer, batch_size, seq_len, device, split='a', max_tokens=1, timeout_seconds=1",
    "causality_check": "model, tokenizer, batch_size, seq_len, device",
    "record_step_boundary": "step",
}


class Captured(Exception):  # noqa: N818  (it ends a look where enough is known)
    """What something was about to be started with."""


def captured(*arguments: Any, **fields: Any) -> Any:
    """Stands for a call that must not happen."""
    raise Captured(arguments, fields)


@contextlib.contextmanager
def submission(profile: Profile) -> Iterator[tuple[Path, Artifact]]:
    """A directory with a submission in it."""
    with tempfile.TemporaryDirectory() as directory:
        train_py = Path(directory) / profile.launch.script
        train_py.write_text(SUBMISSION, "utf-8")
        yield Path(directory), Artifact.from_file(train_py, "")


def kit_text(profile: Profile) -> str:
    """A kit in small that fits the unchanged contest: its setup notes how it was called."""
    numbers = {"TOKENIZER_VOCAB_SIZE": 2048, "TRAIN_TIME_BUDGET_SECONDS": 60, "EVAL_TIMEOUT_SECONDS": 120}
    numbers |= {"TRAIN_STARTUP_ALLOWANCE_CAP_SECONDS": 30, "TRAIN_STARTUP_STEPS_EXCLUDED": 5}
    lines = [f"{name} = {value}" for name, value in numbers.items()]
    lines += [f"def {name}({parameters}): ..." for name, parameters in CALLS.items()]
    lines += ["class Tokenizer:", "    def get_bos_token_id(self): ...", "    def get_vocab_size(self): ..."]
    lines += ["    def encode(self, docs, prepend=None, num_threads=1): ...", "if __name__ == '__main__':"]
    lines += [
        "    import os, pathlib, sys",
        "    said = [*sys.argv[1:], *sorted(n for n in os.environ if 'CACHE_DIR' in n)]",
    ]
    lines += [
        "    place = pathlib.Path(os.environ['NEURON_COMPETITION_R1_CACHE_DIR'])",
        "    place.mkdir(parents=True)",
    ]
    return "\n".join([*lines, "    (place / 'said').write_text(repr(said))"]) + "\n"


def ensured(profile: Profile) -> Any:
    """What is said of a kit of the organiser's, and what its setup was called with."""
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory) / "kit"
        place.mkdir()
        (place / "prepare.py").write_text(kit_text(profile), "utf-8")
        environment = {"SUBMISSION_PARITY_CACHE": f"{directory}/cache"}
        with mock.patch.dict(os.environ, environment):
            os.environ.pop("NEURON_COMPETITION_R1_CACHE_DIR", None)
            try:
                found = kits.ensure_kit(profile, place)
            except kits.KitError as error:
                return str(error).replace(directory, "")
            return (found.cache_dir / "said").read_text("utf-8")


def chosen(profile: Profile) -> Any:
    """Which kit is taken where none is named."""
    try:
        return kits._choose(profile, None)
    except kits.KitError as error:
        return str(error)


def limited(profile: Profile) -> Any:
    """The limits that the supervisor of a lane is given."""
    plan = LaunchPlan("", {}, ["true"], 1, ["train.py"])
    stand_ins()  # looks for the SDK once, in a process of its own: that one is not meant
    with submission(profile) as (directory, artifact):
        spec = LaneSpec(Lane.ARTIFACT, plan, artifact, Clock(kind="real"))
        with mock.patch("scorer.room.cleanroom.subprocess.Popen", captured):
            try:
                run_lane(spec, profile, small_kit(directory / "kit"), directory / "keep")
            except Captured as seen:
                words = [word for word in seen.args[0][0] if "limits" in word]
                return json.loads(words[0])["limits"]
    return None


def trial(profile: Profile, directory: Path, artifact: Artifact) -> judge._Trial:
    """A scoring of a checkpoint that holds nothing much."""
    path = directory / "final.pt"
    torch.save({"model_state": {"w": torch.ones(1)}, "model_config": {}, "meta": {"step": 1}}, path)
    kit = small_kit(directory / "kit")
    for name in ("tokenizer.json", "shard.parquet"):
        (kit.cache_dir / name).write_text(name, "utf-8")
    return judge._Trial(artifact, path, profile, kit, None, lambda _: None)


def begun(profile: Profile) -> Any:
    """What the processes of a scoring are started with, up to where the model would be loaded."""
    seen: list[Any] = []

    def record(name: str) -> Callable[..., Any]:
        def note(*arguments: Any, **fields: Any) -> Any:
            told = [one for one in [*arguments, *fields.values()] if not isinstance(one, Room | mock.Mock)]
            seen.append((name, repr(told)))
            stub = mock.MagicMock()
            stub.seconds, stub.vocabulary, stub.facts = 1.0, 8, {"differing": 0}
            stub.token_bytes.tolist.return_value = [0] * 4096
            stub.lacks.return_value = None
            return stub

        return note

    with submission(profile) as (directory, artifact), contextlib.ExitStack() as stack:
        one = trial(profile, directory, artifact)
        for name in ("KitProcess", "Streams", "HostProcess", "Submitted"):
            stack.enter_context(mock.patch.object(judge, name, record(name)))
        stack.enter_context(mock.patch.object(judge.scored_rows, "Sampler", captured))
        stack.enter_context(
            mock.patch.object(judge.psutil, "virtual_memory", return_value=SimpleNamespace(available=1 << 30))
        )
        rooms: list[Room] = []
        real = Room.__init__

        def noted(self: Room, **fields: Any) -> None:
            real(self, **fields)
            rooms.append(self)

        stack.enter_context(mock.patch.object(Room, "__init__", noted))
        given: list[list[str]] = []
        try:
            one.run(stack)
        except Captured as sampler:
            seen.append(("Sampler", repr(sampler.args)))
            given = [sorted(str(p.relative_to(r.root)) for p in r.root.rglob("*") if p.is_file()) for r in rooms]
        text = repr([seen, given, one._slot_tokens()])
        for path in (*(room.root for room in rooms), directory):
            text = text.replace(str(path), "")
        return text


def kit_settings(profile: Profile) -> Any:
    """What the process that runs the kit is told."""
    with Room() as room, mock.patch.object(Room, "popen", captured):
        try:
            KitProcess(room, {}, profile.kit)
        except Captured as seen:
            told = json.loads(seen.args[0][1][-1] if isinstance(seen.args[0][0], Room) else seen.args[0][0][-1])
            return told["module"], told["functions"]
    return None


def command(profile: Profile) -> Any:
    """The kit's own command over a submission."""
    with submission(profile) as (directory, artifact), Room() as room, mock.patch.object(Room, "popen", captured):
        one = trial(profile, directory, artifact)
        one.checkpoint = inspect(one.path, "final.pt", profile.files)
        stack = contextlib.ExitStack()
        try:
            with stack:
                one._start_public(stack)
        except Captured as seen:
            words = next(part for part in seen.args[0] if isinstance(part, list))
            return [word for word in words if not word.startswith("/")] + [Path(words[1]).name]
    assert room is not None
    return None


def scored(profile: Profile) -> Any:
    """What is said where the run left no checkpoint."""
    with submission(profile) as (directory, artifact):
        return judge.score(artifact, directory / "none.pt", profile, small_kit(directory / "kit"), None).problem


def checked(profile: Profile) -> Any:
    """What is said of a checkpoint's parts."""
    with submission(profile) as (directory, artifact):
        path = trial(profile, directory, artifact).path
        found = checkpoints.check(
            path, inspect(path, "final.pt", profile.files), Source(artifact, profile), profile.files
        )
        return [one.message for one in found]


def sited(profile: Profile) -> Any:
    """The lines that findings name for the hook and for the kit's question after ranks."""
    with submission(profile) as (_, artifact):
        source = Source(artifact, profile)
        return source.loader(), source.environment_read()


def numbered(profile: Profile) -> Any:
    """What is said of a kit with a vocabulary of 2048, opened by 2044."""
    kit = mock.Mock(KitProcess)
    kit.finish.return_value = {"vocabulary": 2048, "bos": 2044, "constants": {}}
    with tempfile.TemporaryDirectory() as directory:
        read = streams.Streams(kit, Path(directory) / "s", profile.kit, [], ("public_val", 1))
        try:
            read.wait(1.0)
        except (streams.StreamError, OSError) as error:
            return type(error), str(error).replace(directory, "")
    return None


def tabled(profile: Profile) -> Any:
    """What is said of a table that gives a byte to the last token."""
    with submission(profile) as (_, artifact):
        table = [0] * 2047 + [1]
        return [one.message for one in data.table(Source(artifact, profile), profile, {"differing": 0}, table)]


def overlapped(profile: Profile) -> Any:
    """What the kit is asked to compare with the scored documents."""
    kit = mock.Mock(KitProcess)
    data.begin_overlap(profile, kit, ["public_val"])
    return kit.start.call_args


def looked(profile: Profile) -> Any:
    """What the kit's causality check is called with."""
    kit = mock.Mock(KitProcess)
    kit.finish.side_effect = KitProcessError("no answer")
    with submission(profile) as (_, artifact):
        official.causality(Source(artifact, profile), profile, kit, mock.Mock(), [], "PUR010")
    return kit.start.call_args


def believed(profile: Profile) -> Any:
    """Whether a score of 2.625 bpb asks for an audit."""
    measured = receipts_factory.receipt(Lane.TRUSTED).evaluations
    assert ways.trusted(measured, profile.evaluation.official) is not None
    with submission(profile) as (_, artifact):
        return [one.message for one in audit.believable(Source(artifact, profile), profile, measured, 2048)]


def pretended(profile: Profile) -> Any:
    """The worlds in which a submission is loaded."""
    plain = Submitted(Path("train.py"), Path("final.pt"), "cpu", "load_for_eval")
    found = surroundings.variants(plain, profile, [], "stand-in", Path("scratch"))
    return [variant.trial for variant in found if variant.test is surroundings.WORLD]


def cast(profile: Profile) -> Any:
    """The dtypes in which a model that computes in float32 is asked again."""
    asked: list[Any] = []
    host = SimpleNamespace(start=lambda submitted, *_: captured(asked.append(submitted.device)))
    plain = Submitted(Path("train.py"), Path("final.pt"), "cpu", "load_for_eval")
    process = SimpleNamespace(submitted=plain, host=host)
    model = SimpleNamespace(process=process, dtypes={"float32"}, vocabulary=8)
    bench: Any = SimpleNamespace(model=model, settings=profile.evaluation.purity, first=torch.zeros(1))
    with contextlib.suppress(Captured):
        surroundings.other_dtypes(bench)
    return asked


def grown(profile: Profile) -> Any:
    """Whether a process that holds a megabyte more each time may."""
    held = itertools.count(1, 1 << 20)
    host = SimpleNamespace(memory=lambda: next(held))
    model = SimpleNamespace(process=SimpleNamespace(host=host), forward=lambda batch: None)
    record = mock.Mock()
    memory.bounded(SimpleNamespace(model=model, record=record, settings=profile.evaluation.purity, first=None))  # type: ignore[arg-type]
    return [call[0] for call in record.method_calls]
