"""The judge's end of the model processes: starts, asks and bounds them, and ends them with all their children.

    with HostProcess(room, device, device_module, environment, seconds) as host:
        process = host.start(Submitted(train_py, checkpoint), tokens, vocabulary)
        process.call("import")

A host is one process in a room that has torch loaded and no submission; each model process is a fork of it (see the
package host). What comes back from one is evidence against the submission at most (see replies): a reply that no
command asked for, a wrong nonce or bytes that are no reply mean that something else wrote into the result channel.
The memory that both share cannot shrink under the judge: it is sealed before the submission gets it.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import mmap
import os
import secrets
import select
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
import psutil
import torch
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from scorer.room.cleanroom import Room
from scorer.trusted import replies
from scorer.trusted.replies import LONGEST_REPLY, Reply

HOST = Path(__file__).with_name("host")
SLOTS = 2
EXIT_SECONDS = 60.0  # for a model process to end after the last command, its exit handlers included, on a busy machine
LOOK_SECONDS = 0.5  # while a reply is waited for, log and memory are looked at this often
LONGEST_LOG = 64 * 2**20
MOST_NOTES = 1000
LONGEST_NOTE = 2000
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}

Json = dict[str, Any]


class ModelProcessError(RuntimeError):
    """A model process broke the protocol. `kind` is "died", "timed out", "channel", "log" or "memory"."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class HostError(RuntimeError):
    """The host of model processes did not start: the machine's fault, not a submission's."""


class Note(BaseModel):
    """Something the submission did in the model process, as its audit hook told it."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    kind: str = Field(max_length=20, pattern="^(write|read|subprocess|connect|signal|hook|environment)$")
    detail: str = Field(max_length=LONGEST_NOTE)
    line: int  # of train.py
    direct: bool  # done by train.py itself, not by a library that it called
    phase: str = Field(max_length=20)  # the command during which it happened; "end": at exit


@dataclass(frozen=True)
class Submitted:
    """What a model process is made from, and under which circumstances; the files lie in the host's room."""

    train_py: Path
    checkpoint: Path
    device: str
    hook: str
    module_name: str = "submission_under_test"
    registered: bool = True  # in sys.modules
    directory: Path | None = None  # to work in; None: the room's own
    environment: Mapping[str, str] = field(default_factory=dict)  # set on top of the room's


class HostProcess:
    """A process in a room that forks model processes. Use as a context manager; leaving it ends them all.

    `seconds` bounds any one command, `memory_bytes` what all processes of the room may hold at once.
    """

    def __init__(
        self,
        room: Room,
        device: str,
        device_module: str | None,
        environment: Mapping[str, str],
        seconds: float,
        memory_bytes: int | None = None,
    ) -> None:
        self.room, self.seconds, self.memory_limit = room, seconds, memory_bytes
        self._orders, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        settings = {"orders": theirs.fileno(), "device": device, "device_module": device_module}
        self._log = (room.control / "host.log").open("w+b")
        self._process = room.popen(
            [sys.executable, str(HOST), json.dumps(settings)],
            environment,
            stdout=self._log,
            stderr=subprocess.STDOUT,
            pass_fds=(theirs.fileno(),),
        )
        theirs.close()
        self._models = 0
        self._gone: str | None = None  # why it answers no more

    def __enter__(self) -> HostProcess:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def hello(self) -> Json:
        """Versions, environment and which Neuron the host has; waits until it has started."""
        return self.order("hello")

    def start(self, submitted: Submitted, tokens: int, vocabulary: int) -> ModelProcess:
        """Fork a model process with slots of `tokens` ids and their logits over `vocabulary`, in up to 4 bytes each."""
        self._models += 1
        return ModelProcess(self, submitted, tokens, vocabulary, self.room.control / f"model-{self._models}.log")

    def order(self, operation: str, descriptors: Sequence[int] = (), **fields: Any) -> Json:
        """One order and its answer; no submission runs in the host, so the answer is believed."""
        if self._gone is not None:  # not waited for a second time
            raise ModelProcessError("died", self._gone)
        packet = json.dumps({"op": operation, **fields}).encode()
        try:
            socket.send_fds(self._orders, [packet], descriptors)
            ready = select.select([self._orders], [], [], self.seconds)[0]
            answer = self._orders.recv(1 << 20) if ready else None
        except OSError:
            answer = b""
        if answer:
            found: Json = json.loads(answer)
            return found
        with contextlib.suppress(TimeoutError):
            self._process.wait(EXIT_SECONDS if answer is not None else 0.0)
        what = f"gave no answer within {self.seconds:g} s" if answer is None else "ended"
        message = f"the model's host {what}; its last words: {last_words(self._log)}"
        self._gone = message
        if self._models == 0:
            raise HostError(message)
        raise ModelProcessError("timed out" if answer is None else "died", message)

    @property
    def gone(self) -> bool:
        """Whether it was seen to answer no more."""
        return self._gone is not None

    def memory(self) -> int:
        """Bytes that all processes of the room hold now, what they share counted for each."""
        total = 0
        with contextlib.suppress(psutil.Error):
            for process in psutil.Process(self._process.supervisor_pid).children(recursive=True):
                with contextlib.suppress(psutil.Error):
                    total += process.memory_info().rss
        return total

    def finish(self) -> None:
        """End the host in order and wait for it, so that what is left of its forks becomes known."""
        with contextlib.suppress(OSError):
            self._orders.send(b'{"op": "end"}')
        try:
            self._process.wait(EXIT_SECONDS)
        except TimeoutError:
            self._process.stop()

    def close(self) -> None:
        """End everything at once."""
        self._process.stop()
        self._process.close()
        self._orders.close()
        self._log.close()

    @property
    def left_processes(self) -> list[str]:
        """What outlived the host; known once `finish` has returned."""
        return list(self._process.left)

    @property
    def network(self) -> str:
        """ "none" where the room was cut off from the network, else why it was not."""
        return self._process.network

    @property
    def protections(self) -> dict[str, str | None]:
        """Which protections the room has: None where one holds, else why it does not."""
        return self._process.protections


class ModelProcess:
    """A fork of a host that holds one submission's model. Use as a context manager; leaving it kills it."""

    def __init__(self, host: HostProcess, submitted: Submitted, tokens: int, vocabulary: int, log: Path) -> None:
        self.host, self.submitted = host, submitted
        self.seconds = host.seconds
        self.notes: list[Note] = []
        self.foreign_note: str | None = None  # what else stood in the pipe of the notes: only the hook may write there
        self._notes = self._buffer = b""
        self._pending: list[tuple[str, str]] = []  # (command, nonce)
        self.vocabulary = vocabulary
        self.slot_tokens, self.slot_bytes = tokens, 4 * tokens * (1 + vocabulary)
        memory = sealed_memory(SLOTS * self.slot_bytes)
        self.maps: mmap.mmap | None = mmap.mmap(memory, SLOTS * self.slot_bytes)
        self._channel, theirs = socket.socketpair()
        self._channel.setblocking(False)
        self._events, their_events = os.pipe()
        os.set_blocking(self._events, False)
        self._output = log.open("w+b")
        settings = {
            "train_py": str(submitted.train_py),
            "checkpoint": str(submitted.checkpoint),
            "device": submitted.device,
            "module_name": submitted.module_name,
            "registered": submitted.registered,
            "directory": None if submitted.directory is None else str(submitted.directory),
            "environment": dict(submitted.environment),
            "readable": [str(host.room.root)],
            "tokens": tokens,
            "slots": SLOTS,
            "slot_bytes": self.slot_bytes,
        }
        try:
            descriptors = (theirs.fileno(), their_events, memory, self._output.fileno())
            self.pid: int = host.order("fork", descriptors, settings=settings)["pid"]
        except BaseException:
            self._release()
            raise
        finally:
            theirs.close()
            os.close(their_events)
            os.close(memory)

    def __enter__(self) -> ModelProcess:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Kill the process, whatever it does. Its notes and last words stay readable."""
        if self._events < 0:
            return
        with contextlib.suppress(ModelProcessError):  # a host that is gone took its forks with it
            self.host.order("kill", pid=self.pid)
        self.read_notes()
        self._release()

    def _release(self) -> None:
        self._channel.close()
        os.close(self._events)
        self._events = -1
        self._output.close()
        self.maps = None  # tensors may still look into it; the mapping goes with the last of them

    # --- Commands ---

    def call(self, operation: str, **fields: Any) -> Reply:
        """Send one command and wait for its reply."""
        self.send(operation, **fields)
        return self.receive()

    def send(self, operation: str, **fields: Any) -> None:
        """Send a command; replies come in the order of the commands."""
        nonce = secrets.token_hex(16)
        self._pending.append((operation, nonce))
        rest = (json.dumps({"op": operation, "nonce": nonce, **fields}) + "\n").encode()
        deadline = time.monotonic() + self.seconds
        while rest:
            try:
                rest = rest[self._channel.send(rest) :]
            except BlockingIOError:  # it does not read
                self._look(deadline, [], [self._channel])
            except (BrokenPipeError, ConnectionResetError) as error:
                raise self._died() from error

    def receive(self) -> Reply:
        """The reply to the oldest command that has none yet."""
        line = self._line(time.monotonic() + self.seconds)
        operation, nonce = self._pending.pop(0)
        try:
            return replies.read(line, operation, nonce)
        except ValueError as error:
            raise ModelProcessError("channel", str(error)) from None

    def _line(self, deadline: float) -> bytes:
        while b"\n" not in self._buffer:
            if len(self._buffer) > LONGEST_REPLY:
                raise ModelProcessError("channel", f"the result channel carried over {LONGEST_REPLY} bytes, no reply")
            self._look(deadline, [self._channel], [])
            try:
                data = self._channel.recv(1 << 16)
            except BlockingIOError:
                continue
            except ConnectionResetError:
                data = b""
            if not data:
                raise self._died()
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        self._bound_log()
        return line

    def _look(self, deadline: float, reading: list[socket.socket], writing: list[socket.socket]) -> None:
        """Wait until the channel is ready, take notes meanwhile, and bound what the process may use up."""
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                raise ModelProcessError("timed out", f"the model process gave no answer within {self.seconds:g} s")
            watched: list[Any] = [*reading, self._events]
            readable, writable, _ = select.select(watched, writing, [], min(left, LOOK_SECONDS))
            if self._events in readable and not self.read_notes():
                time.sleep(0.001)  # its end is closed: the channel will tell
            if writable or any(end is not self._events for end in readable):
                return
            self._bound()

    def _bound_log(self) -> None:
        size = os.fstat(self._output.fileno()).st_size
        if size > LONGEST_LOG:
            raise ModelProcessError("log", f"the model process printed {size} bytes, allowed are {LONGEST_LOG}")

    def _bound(self) -> None:
        self._bound_log()
        limit = self.host.memory_limit
        if limit is not None and (held := self.host.memory()) > limit:
            raise ModelProcessError("memory", f"the model process and its children hold {held} bytes, allowed {limit}")

    def _died(self) -> ModelProcessError:
        code = self.host.order("wait", pid=self.pid, seconds=EXIT_SECONDS)["code"]
        how = "closed the result channel" if code is None else f"ended with exit code {code}"
        return ModelProcessError(
            "died", f"the model process {how} before it answered; its last words: {last_words(self._output)}"
        )

    # --- Batches ---

    def put(self, slot: int, tokens: torch.Tensor) -> None:
        """Write a batch (int [rows, cols]) into a slot."""
        self._ids(slot, tokens.numel()).copy_(tokens.reshape(-1))

    def intact(self, slot: int, tokens: torch.Tensor) -> bool:
        """Whether the slot still holds this batch."""
        return torch.equal(self._ids(slot, tokens.numel()), tokens.reshape(-1).to(torch.int32))

    def poison(self, slot: int, tokens: int, dtype: str | None) -> None:
        """Fill the logits of that many tokens with NaN, so that none that was not written is taken for an answer.

        `dtype` is the logits', None where it is not known yet.
        """
        assert self.maps is not None
        start = slot * self.slot_bytes + 4 * self.slot_tokens
        width = 4 if dtype is None else DTYPES[dtype].itemsize
        np.frombuffer(self.maps, np.uint8, width * tokens * self.vocabulary, start)[:] = 0xFF

    def logits(self, slot: int, shape: Sequence[int], dtype: str, copy: torch.Tensor | None = None) -> torch.Tensor:
        """The slot's logits, copied: what the model process writes later no longer reaches them.

        The copy lies in `copy`, as `room_for_a_copy` gives it, or in memory of its own.
        """
        assert self.maps is not None
        start = slot * self.slot_bytes + 4 * self.slot_tokens
        count = int(np.prod(shape))
        shared = torch.frombuffer(self.maps, dtype=DTYPES[dtype], count=count, offset=start)
        if copy is None:
            return shared.clone().view(*shape)
        return copy[: shared.nbytes].view(shared.dtype).copy_(shared).view(*shape)

    def room_for_a_copy(self) -> torch.Tensor:
        """Memory of the judge's own for one batch's logits, uint8: new memory for each costs as much as the sums."""
        return torch.empty(self.slot_bytes - 4 * self.slot_tokens, dtype=torch.uint8)

    def _ids(self, slot: int, count: int) -> torch.Tensor:
        assert self.maps is not None
        if count > self.slot_tokens:
            raise ValueError(f"a batch of {count} tokens for slots of {self.slot_tokens}")
        return torch.frombuffer(self.maps, dtype=torch.int32, count=count, offset=slot * self.slot_bytes)

    # --- The end ---

    def finish(self) -> str | None:
        """End the process in order and wait for it; returns what it said after its last reply, or None."""
        self.call("end")
        rest = self._buffer
        deadline = time.monotonic() + EXIT_SECONDS
        while len(rest) <= LONGEST_REPLY:
            try:
                self._look(deadline, [self._channel], [])
                data = self._channel.recv(1 << 16)
            except BlockingIOError:
                continue
            except ConnectionResetError:
                break
            if not data:
                break
            rest += data
        left = max(0.1, deadline - time.monotonic())
        if self.host.order("wait", pid=self.pid, seconds=left)["code"] is None:
            raise ModelProcessError("timed out", f"the model process did not end within {EXIT_SECONDS:g} s")
        return rest[:80].decode("utf-8", "replace") if rest else None

    def read_notes(self) -> bool:
        """Take what the audit hook wrote so far, at most a megabyte of it; False once nothing more can come."""
        for _ in range(16):
            try:
                data = os.read(self._events, 1 << 16)
            except BlockingIOError:
                return True
            *lines, self._notes = (self._notes + data).split(b"\n")
            if self._notes and (not data or len(self._notes) > 2 * LONGEST_NOTE):
                lines, self._notes = [*lines, self._notes], b""
            self._keep(lines)
            if not data:
                return False
        return True

    def _keep(self, lines: Sequence[bytes]) -> None:
        for line in lines:
            if self.foreign_note is not None or len(self.notes) == MOST_NOTES:
                return  # a flood is not kept
            try:
                self.notes.append(Note.model_validate_json(line))
            except ValidationError:
                self.foreign_note = line[:80].decode("utf-8", "replace")


def sealed_memory(size: int) -> int:
    """A file of that many bytes, held in memory, that nobody can shrink any more: its descriptor."""
    handle = os.memfd_create("batches", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(handle, size)
    fcntl.fcntl(handle, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
    return handle


def last_words(log: IO[bytes], longest: int = 300) -> str:
    """The last line that a process printed, at most `longest` (up to 4,000) characters of it."""
    log.flush()
    with Path(log.name).open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - 4096))
        lines = file.read().decode("utf-8", "replace").strip().splitlines()
    return lines[-1][:longest] if lines else "none"
