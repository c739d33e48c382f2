"""The judge's end of the kit's process (see kit_host): gives it jobs, and answers its questions for logits.

kit = KitProcess(room, environment, profile.kit)
kit.start("read", out=..., streams=[...], constants=[...])
facts = kit.finish(seconds)
kit.map(tokens, vocabulary)
kit.start("evaluate", batch_size=32, ...)
done = kit.finish(seconds, forward=model_of_the_submission)
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import select
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath
from typing import IO, Any

import torch

from scorer.contest import KitRules
from scorer.room.cleanroom import Room, RoomProcess

HOST = Path(__file__).with_name("kit_host")

MAP_SECONDS = 60.0  # several ranks make their process group first

Json = dict[str, Any]
Forward = Callable[[torch.Tensor], torch.Tensor]
"""Token ids int32 [rows, T] -> checked logits [rows, T, V] in the model's dtype."""


class KitProcessError(RuntimeError):
    """The kit could not do a job; the message holds its own words."""


class KitProcess:
    """The kit in a room of its own: one process, or `world_size` of them with a process group. Close it at the end."""

    def __init__(self, room: Room, environment: Mapping[str, str], rules: KitRules, world_size: int = 1) -> None:
        self._log: IO[bytes] = (room.control / f"kit-{world_size}.log").open("w+b")
        self._tokens = self._logits = 0
        self._memory: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (closed by `close`)
        self._map: mmap.mmap | None = None
        self._pending = [b""] * world_size
        pairs = [socket.socketpair() for _ in range(world_size)]
        self._channels = [ours for ours, _ in pairs]
        theirs = [other for _, other in pairs]
        handles = [other.fileno() for other in theirs]
        settings = {
            "module": PurePosixPath(rules.file).stem,
            "functions": rules.functions.model_dump(),
            "store": str(room.records / f"store-{world_size}"),
            "channels": handles,
            "memory": self._memory.fileno(),
        }
        self._process: RoomProcess = room.popen(
            [sys.executable, str(HOST), json.dumps(settings)],
            environment,
            stdout=self._log,
            stderr=subprocess.STDOUT,
            pass_fds=[*handles, self._memory.fileno()],
        )
        for other in theirs:
            other.close()

    def close(self) -> None:
        """End the process and release what was shared with it."""
        self._process.stop()
        self._process.close()
        for channel in self._channels:
            channel.close()
        self._map = None  # tensors may still look into it; the mapping goes with the last of them
        self._memory.close()
        self._log.close()

    def start(self, operation: str, **fields: Any) -> None:
        """Give every rank a job; what goes wrong is told by `finish`."""
        line = (json.dumps({"op": operation, **fields}) + "\n").encode()
        with contextlib.suppress(OSError):  # the process is gone, which `finish` finds
            for channel in self._channels:
                channel.sendall(line)

    def finish(self, seconds: float, forward: Forward | None = None) -> Json:
        """Wait at most `seconds` for the job's end and return what rank 0 answers. Raises KitProcessError.

        Whatever `forward` raises passes through; the process is then of no use any more.
        """
        deadline = time.monotonic() + seconds
        answers: dict[int, Json] = {}
        while len(answers) < len(self._channels):
            rank, message = self._next(deadline, seconds)
            if "failed" in message:
                if len(self._channels) > 1:  # the others wait for this rank
                    self._process.stop()
                raise KitProcessError(str(message["failed"]))
            if "done" in message:
                answers[rank] = message["done"]
            elif forward is not None:
                self._serve(rank, message["ask"], forward)
                self._next(deadline, seconds, of=rank)  # it has taken them: another rank's may go to the same place
        return answers[0]

    def map(self, tokens: int, vocabulary: int) -> None:
        """Share memory for batches of up to `tokens` ids of each rank, and the logits (over `vocabulary`) of one."""
        self._tokens, self._logits = tokens, 4 * tokens * len(self._channels)
        size = self._logits + 4 * tokens * vocabulary
        os.ftruncate(self._memory.fileno(), size)
        self._map = mmap.mmap(self._memory.fileno(), size)
        self.start("map", tokens=tokens, logits=self._logits, size=size)
        with contextlib.suppress(KitProcessError):  # a process that is gone, which the next job's `finish` tells
            self.finish(MAP_SECONDS)

    def _serve(self, rank: int, shape: list[int], forward: Forward) -> None:
        """Answer one question for logits."""
        rows, length = shape
        assert self._map is not None
        place = 4 * self._tokens * rank
        ids = torch.frombuffer(self._map, dtype=torch.int32, count=rows * length, offset=place).clone()
        logits = forward(ids.view(rows, length))
        target = torch.frombuffer(self._map, dtype=logits.dtype, count=logits.numel(), offset=self._logits)
        target.copy_(logits.reshape(-1))
        answer = {"shape": list(logits.shape), "dtype": str(logits.dtype).removeprefix("torch.")}
        with contextlib.suppress(OSError):  # the process is gone, which the next message would have told
            self._channels[rank].sendall((json.dumps(answer) + "\n").encode())

    def _next(self, deadline: float, seconds: float, of: int | None = None) -> tuple[int, Json]:
        """(rank, message) of whichever rank speaks first, or of one."""
        listened = range(len(self._channels)) if of is None else (of,)
        while True:
            for rank in listened:
                pending = self._pending[rank]
                line, newline, rest = pending.partition(b"\n")
                if newline:
                    self._pending[rank] = rest
                    return rank, json.loads(line)
            left = deadline - time.monotonic()
            channels = [self._channels[rank] for rank in listened]
            ready = select.select(channels, [], [], left)[0] if left > 0 else []
            if not ready:
                self._process.stop()  # whatever it is at, it takes no other job
                raise KitProcessError(f"still running after {seconds:g} s; its last words: {self.last_words()}")
            for channel in ready:
                try:
                    data = channel.recv(1 << 16)
                except ConnectionResetError:
                    data = b""
                if not data:
                    raise KitProcessError(f"its process ended; its last words: {self.last_words()}")
                self._pending[self._channels.index(channel)] += data

    def last_words(self) -> str:
        """The last line that the kit printed."""
        lines = Path(self._log.name).read_text("utf-8", "replace").strip().splitlines()
        return lines[-1][:300] if lines else "none"
