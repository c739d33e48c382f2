"""The judge's side of a model process: whatever that writes, prints, holds or dies of, the judge goes on."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
import torch

from parity_tests.trusted_samples import Workshop, random_rows, small_kit, small_profile, submission, written
from scorer.room.receipts import Outcome
from scorer.trusted import process as processes
from scorer.trusted import replies
from scorer.trusted.judge import score
from scorer.trusted.process import ModelProcessError
from scorer.trusted.replies import Failed, Forwarded


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workshop]:
    with Workshop(tmp_path_factory.mktemp("workshop")) as shop:
        yield shop


HEAD = '{"nonce": "n", "ok": true'
WRONG = [
    ("no reply at all", b"hello", "which is no reply"),
    ("another nonce", b'{"nonce": "m", "ok": true}', "which no command asked for"),
    ("deeply nested", b'{"nonce": "n", "ok": true, "shape": ' + b"[" * 100_000, "which is no reply"),
    (
        "a field too many",
        HEAD.encode() + b', "exact": true, "type": "T", "shape": [1], "input_intact": true, "bpb": 0}',
        "bpb",
    ),
    ("a field too few", HEAD.encode() + b', "exact": true}', "no answer to forward"),
    ("another type", HEAD.encode() + b', "exact": 1, "type": "T", "shape": [1], "input_intact": true}', "exact"),
    ("a huge word", HEAD.encode() + b', "exact": true, "type": "' + b"x" * 10_000 + b'"}', "type"),
    (
        "a negative shape",
        HEAD.encode() + b', "exact": true, "type": "T", "shape": [-1], "input_intact": true}',
        "shape",
    ),
    ("a huge number", HEAD.encode() + b', "exact": true, "type": "T", "shape": [' + b"9" * 9000 + b"]}", "no "),
    ("not UTF-8", b'{"nonce": "n\xff", "ok": true}', "which is no reply"),
]


@pytest.mark.parametrize(("title", "line", "words"), WRONG, ids=[case[0] for case in WRONG])
def test_a_reply_that_does_not_fit_is_refused_in_words(title: str, line: bytes, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        replies.read(line, "forward", "n")


def test_a_reply_that_fits_is_read() -> None:
    line = HEAD.encode() + b', "exact": true, "type": "Tensor", "shape": [1, 2], "input_intact": true}'
    found = replies.read(line, "forward", "n")
    assert isinstance(found, Forwarded)
    assert found.shape == [1, 2]
    error = b'{"type": "ValueError", "message": "no", "frames": [[3, "forward"]]}'
    failed = replies.read(b'{"nonce": "n", "ok": false, "error": ' + error + b"}", "forward", "n")
    assert isinstance(failed, Failed)
    assert failed.error.line == 3


def test_streamed_logits_are_those_of_single_batches_and_no_later_write_reaches_them(workshop: Workshop) -> None:
    model = workshop.model(submission())
    rows = random_rows(8)
    batches = [rows[:4], rows[1:], rows[7:, :5]]
    alone = [model.answer(batch) for batch in batches]
    model = workshop.model(submission())
    streamed = []
    for number, (tokens, _, logits) in enumerate(model.stream((batch, batch.long()) for batch in batches)):
        model.process.poison(number % processes.SLOTS, tokens.numel(), None)
        streamed.append(logits.clone())
    assert [torch.equal(*pair) for pair in zip(streamed, alone, strict=True)] == [True, True, True]
    assert not torch.equal(alone[0], alone[1][:4])


SHRINK = """
import os
for name in os.listdir('/proc/self/fd'):
    try:
        if 'memfd' in os.readlink('/proc/self/fd/' + name):
            os.ftruncate(int(name), 0)
    except OSError:
        pass
"""


def test_the_memory_cannot_be_taken_from_under_the_judge(workshop: Workshop) -> None:
    model = workshop.model(submission(after=SHRINK))
    assert model.forward(random_rows(4)).shape == (4, 16, 61)
    assert model.forward(random_rows(4)).shape == (4, 16, 61)


def test_a_log_without_end_is_cut_off(workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "LONGEST_LOG", 1 << 20)
    monkeypatch.setattr(processes, "LOOK_SECONDS", 0.05)
    model = workshop.model(submission(after="while True:\n    print('x' * 10000)"))
    with pytest.raises(ModelProcessError, match=r"printed .* bytes") as raised:
        model.forward(random_rows(4))
    assert raised.value.kind == "log"


def test_memory_without_end_is_cut_off(workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "LOOK_SECONDS", 0.05)
    held = workshop.host.memory()
    assert held > 0
    monkeypatch.setattr(workshop.host, "memory_limit", held + (300 << 20))
    model = workshop.model(submission(after="kept = []\nwhile True:\n    kept.append(torch.ones(1 << 22))"))
    with pytest.raises(ModelProcessError, match="allowed") as raised:
        model.forward(random_rows(4))
    assert raised.value.kind == "memory"


NOTES = """
import os
for fd in range(3, 40):
    try:
        os.set_blocking(fd, False)
        os.write(fd, b'{"kind": "write"}' + b'x' * 70000)
    except OSError:
        pass
"""


def test_what_stands_in_the_pipe_of_the_notes_is_bounded_and_told(workshop: Workshop) -> None:
    model = workshop.model(submission(after=NOTES))
    with pytest.raises(ModelProcessError) as raised:
        model.forward(random_rows(4))
    assert raised.value.kind == "channel"  # it wrote there, too
    model.process.read_notes()
    assert model.process.foreign_note is not None
    assert len(model.process.foreign_note) <= 80
    assert len(model.process.notes) <= processes.MOST_NOTES


def test_a_thousand_notes_neither_stop_the_model_nor_fill_the_judge(workshop: Workshop) -> None:
    writes = "for i in range(1000):\n    open('/dev/shm/parity-note', 'w').close()"
    model = workshop.model(submission(after=writes))
    assert model.forward(random_rows(4)).shape == (4, 16, 61)
    model.process.read_notes()
    assert 0 < len(model.process.notes) <= processes.MOST_NOTES
    assert model.process.foreign_note is None
    assert {note.kind for note in model.process.notes} == {"write"}


def test_a_host_that_is_gone_is_told_at_once_and_leaves_no_descriptor(tmp_path: Path) -> None:
    with Workshop(tmp_path) as workshop:
        model = workshop.model(submission())
        before = psutil.Process().num_fds()
        below = psutil.Process().children(recursive=True)
        for one in below:
            if any("trusted/host" in word for word in command_line(one)):
                one.kill()
        with pytest.raises(ModelProcessError):
            model.forward(random_rows(4))
        for _ in range(3):
            with pytest.raises(ModelProcessError, match="the model's host ended"):
                workshop.process(submission())
        assert psutil.Process().num_fds() <= before
        began = time.monotonic()
    assert time.monotonic() - began < 30


def kill_one_soon(seed: int) -> None:
    """Kill a random process that runs below this one, a moment from now, as long as there is one."""
    choice = random.Random(seed)

    def kill() -> None:
        time.sleep(choice.random() * 0.6)
        below = psutil.Process().children(recursive=True)
        hosts = [one for one in below if any("trusted/host" in word for word in command_line(one))]
        if hosts:
            choice.choice(hosts).kill()

    threading.Thread(target=kill).start()


def command_line(one: psutil.Process) -> list[str]:
    try:
        return one.cmdline()
    except psutil.Error:
        return []


@pytest.mark.long
@pytest.mark.parametrize("phase", ["loading", "scoring", "testing"])
def test_a_process_that_is_killed_anywhere_leaves_a_receipt(tmp_path: Path, phase: str) -> None:
    artifact, checkpoint = written(tmp_path / "submission", submission())

    def progress(words: str) -> None:
        if words.startswith(phase):
            kill_one_soon(hash(phase) % 1000)

    receipt = score(artifact, checkpoint, small_profile(), small_kit(tmp_path), None, progress)
    codes = {found["code"] for found in receipt.observed_findings}
    if receipt.outcome is Outcome.COMPLETE:  # it was killed when nothing depended on it any more
        assert receipt.evaluations
    else:
        assert receipt.evaluations == []
        assert receipt.problem
        assert codes <= {"PUR018", "PUR016"} or phase == "testing"
