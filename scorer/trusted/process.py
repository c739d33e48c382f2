"""The judge's end of the model process: starts it, talks to it, bounds its time, and ends it with all its children.

What comes back from it is evidence against the submission at most: a reply that no command asked for, a wrong nonce or
bytes that are no reply mean that something else wrote into the result channel.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import secrets
import select
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import torch

from scorer.room.cleanroom import Room

HOST = Path(__file__).with_name("host.py")
SLOTS = 2
EXIT_SECONDS = 20.0  # for the model process to end after the last command, its exit handlers included
LONGEST_REPLY = 16 * 2**20
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}

Json = dict[str, Any]


class ModelProcessError(RuntimeError):
    """The model process broke the protocol. `kind` is "died", "timed out" or "channel"."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


@dataclass(frozen=True)
class Note:
    """Something the submission did in the model process, as its audit hook told it."""

    kind: str  # "write", "subprocess", "connect"
    detail: str
    line: int  # of train.py
    direct: bool  # done by train.py itself, not by a library that it called
    phase: str  # the command during which it happened; "end": at exit


class ModelProcess:
    """A process in a room of its own that holds one submission's model. Use as a context manager; leaving it kills it.

    `train_py` and `checkpoint` lie in the room; `seconds` bounds any one command.
    """

    def __init__(
        self, room: Room, train_py: Path, checkpoint: Path, device: str, environment: Mapping[str, str], seconds: float
    ) -> None:
        self.seconds = seconds
        self.maps: mmap.mmap | None = None
        self.slot_tokens = self.slot_bytes = 0
        self.notes: list[Note] = []
        self.foreign_note: str | None = None  # what else stood in the pipe of the notes: only the hook may write there
        self._buffer = b""
        self._pending: list[str] = []
        self._memory: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (closed in __exit__)
        self._channel, theirs = socket.socketpair()
        self._events, their_events = os.pipe()
        settings = {
            "channel": theirs.fileno(),
            "events": their_events,
            "memory": self._memory.fileno(),
            "train_py": str(train_py),
            "checkpoint": str(checkpoint),
            "device": device,
            "module_name": "submission_under_test",
        }
        self._output = (room.control / "model-process.log").open("w+b")
        self._process = room.popen(
            [sys.executable, str(HOST), json.dumps(settings)],
            environment,
            stdout=self._output,
            stderr=subprocess.STDOUT,
            pass_fds=(theirs.fileno(), their_events, self._memory.fileno()),
        )
        theirs.close()
        os.close(their_events)

    def __enter__(self) -> ModelProcess:
        return self

    def __exit__(self, *exception: object) -> None:
        self._process.stop()
        self._process.close()
        self._channel.close()
        self.read_notes()
        os.close(self._events)
        self._output.close()
        self.maps = None  # tensors may still look into it; the mapping goes with the last of them
        self._memory.close()

    # --- Commands ---

    def call(self, operation: str, **fields: Any) -> Json:
        """Send one command and wait for its reply."""
        self.send(operation, **fields)
        return self.receive()

    def send(self, operation: str, **fields: Any) -> None:
        """Send a command; replies come in the order of the commands."""
        nonce = secrets.token_hex(16)
        self._pending.append(nonce)
        line = json.dumps({"op": operation, "nonce": nonce, **fields}) + "\n"
        try:
            self._channel.sendall(line.encode())
        except (BrokenPipeError, ConnectionResetError) as error:
            raise self._died() from error

    def receive(self) -> Json:
        """The reply to the oldest command that has none yet."""
        line = self._line(time.monotonic() + self.seconds)
        try:
            reply: Any = json.loads(line)
        except ValueError:
            raise ModelProcessError("channel", f"the result channel carried {line[:80]!r}, which is no reply") from None
        if not isinstance(reply, dict) or reply.get("nonce") != self._pending[0]:
            raise ModelProcessError("channel", f"the result channel carried {line[:80]!r}, which no command asked for")
        self._pending.pop(0)
        return reply

    def _line(self, deadline: float) -> bytes:
        while b"\n" not in self._buffer:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._channel], [], [], left)[0]:
                raise ModelProcessError("timed out", f"the model process gave no answer within {self.seconds:g} s")
            try:
                data = self._channel.recv(1 << 16)
            except ConnectionResetError:
                data = b""
            if not data:
                raise self._died()
            self._buffer += data
            if len(self._buffer) > LONGEST_REPLY:
                raise ModelProcessError("channel", f"the result channel carried over {LONGEST_REPLY} bytes, no reply")
            self.read_notes()
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    def _died(self) -> ModelProcessError:
        with contextlib.suppress(TimeoutError):
            self._process.wait(EXIT_SECONDS)
        code = self._process.poll()
        how = "closed the result channel" if code is None else f"ended with exit code {code}"
        return ModelProcessError(
            "died", f"the model process {how} before it answered; its last words: {self.last_words()}"
        )

    def last_words(self) -> str:
        """The last line that the process printed."""
        self._output.flush()
        lines = Path(self._output.name).read_text("utf-8", "replace").strip().splitlines()
        return lines[-1][:300] if lines else "none"

    # --- Batches ---

    def map(self, tokens: int, vocabulary: int) -> None:
        """Make the shared memory: slots of `tokens` ids and their logits over `vocabulary`, in up to 4 bytes each."""
        self.slot_tokens = tokens
        logit_bytes = 4 * tokens * vocabulary
        self.slot_bytes = 4 * tokens + logit_bytes
        os.ftruncate(self._memory.fileno(), SLOTS * self.slot_bytes)
        self.maps = mmap.mmap(self._memory.fileno(), SLOTS * self.slot_bytes)
        reply = self.call("map", tokens=tokens, logit_bytes=logit_bytes, slots=SLOTS)
        assert reply["ok"], reply

    def put(self, slot: int, tokens: torch.Tensor) -> None:
        """Write a batch (int [rows, cols]) into a slot."""
        self._ids(slot, tokens.numel()).copy_(tokens.reshape(-1))

    def intact(self, slot: int, tokens: torch.Tensor) -> bool:
        """Whether the slot still holds this batch."""
        return torch.equal(self._ids(slot, tokens.numel()), tokens.reshape(-1).to(torch.int32))

    def poison(self, slot: int) -> None:
        """Fill a slot's logits with NaN, so that one that was not written cannot be taken for an answer."""
        assert self.maps is not None
        start = slot * self.slot_bytes + 4 * self.slot_tokens
        np.frombuffer(self.maps, np.uint8, self.slot_bytes - 4 * self.slot_tokens, start)[:] = 0xFF

    def logits(self, slot: int, shape: Sequence[int], dtype: str) -> torch.Tensor:
        """The slot's logits, copied: what the model process writes later no longer reaches them."""
        assert self.maps is not None
        start = slot * self.slot_bytes + 4 * self.slot_tokens
        kind = DTYPES[dtype]
        count = int(np.prod(shape))
        return torch.frombuffer(self.maps, dtype=kind, count=count, offset=start).clone().view(*shape)

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
        while (left := deadline - time.monotonic()) > 0 and select.select([self._channel], [], [], left)[0]:
            try:
                data = self._channel.recv(1 << 16)
            except ConnectionResetError:
                break
            if not data or len(rest) > LONGEST_REPLY:
                break
            rest += data
        try:
            self._process.wait(max(0.1, deadline - time.monotonic()))
        except TimeoutError:
            raise ModelProcessError("timed out", f"the model process did not end within {EXIT_SECONDS:g} s") from None
        return rest[:80].decode("utf-8", "replace") if rest else None

    @property
    def left_processes(self) -> list[str]:
        """What outlived the process; known once `finish` has returned."""
        return list(self._process.left)

    @property
    def network(self) -> str:
        """ "none" where the room was cut off from the network, else why it was not."""
        return self._process.network

    @property
    def protections(self) -> dict[str, str | None]:
        """Which protections the room has: None where one holds, else why it does not."""
        return self._process.protections

    def read_notes(self) -> None:
        """Take what the audit hook wrote so far."""
        data = b""
        while select.select([self._events], [], [], 0)[0] and (chunk := os.read(self._events, 1 << 16)):
            data += chunk
        for line in data.splitlines():
            try:
                self.notes.append(Note(**json.loads(line)))
            except (ValueError, TypeError):
                self.foreign_note = self.foreign_note or line[:80].decode("utf-8", "replace")
