"""A model without weights: its forward hands the token ids to the judge and takes the logits that the judge gives.

The judge asks the submission's model process, checks what comes back and copies it, so the kit computes its own number
from the very logits that are judged, with no code of a submission beside it.
"""

from __future__ import annotations

import json
import mmap
import socket
from typing import IO, Any

import torch

Json = dict[str, Any]


class Channel:
    """The judge's end of a rank: JSON lines, and memory that all ranks share.

    The memory holds `tokens` int32 ids for each rank and then the logits of whoever was answered last.
    """

    def __init__(self, channel: int, memory: int, rank: int) -> None:
        self._rank = rank
        self._socket = socket.socket(fileno=channel)
        self._lines: IO[str] = self._socket.makefile("r", encoding="utf-8")
        self._handle = memory
        self._memory: mmap.mmap | None = None
        self._tokens = self._logits = 0

    def say(self, **message: Any) -> None:
        """Send one line."""
        self._socket.sendall((json.dumps(message) + "\n").encode())

    def hear(self) -> Json | None:
        """The next line; None when the judge has hung up."""
        line = self._lines.readline()
        return json.loads(line) if line else None

    def map(self, tokens: int, logits: int, size: int) -> None:
        """Map the shared memory, of `size` bytes; a batch holds up to `tokens` ids, logits begin at byte `logits`."""
        self._tokens, self._logits = tokens, logits
        self._memory = mmap.mmap(self._handle, size)

    def ask(self, ids: torch.Tensor) -> torch.Tensor:
        """Logits [rows, T, V] of one batch of token ids, int32 [rows, T]."""
        if self._memory is None or ids.numel() > self._tokens:
            raise ValueError(
                f"the kit gives the model {ids.numel()} tokens at once, the judge has room for {self._tokens}"
            )
        place = 4 * self._tokens * self._rank
        torch.frombuffer(self._memory, dtype=torch.int32, count=ids.numel(), offset=place).copy_(ids.reshape(-1))
        self.say(ask=list(ids.shape))
        answer = self.hear()
        if answer is None:
            raise SystemExit("the judge hung up")
        shape: list[int] = answer["shape"]
        count = shape[0] * shape[1] * shape[2]
        dtype = getattr(torch, answer["dtype"])
        logits = torch.frombuffer(self._memory, dtype=dtype, count=count, offset=self._logits).clone().view(shape)
        self.say(took=True)
        return logits


class Proxy(torch.nn.Module):
    """What the kit is given as the model: in evaluation mode, on the CPU."""

    def __init__(self, channel: Channel) -> None:
        super().__init__()
        self.channel = channel
        # Scorers ask a model's first parameter for its device; this one has nothing to train or to count.
        self.empty = torch.nn.Parameter(torch.empty(0), requires_grad=False)
        self.eval()

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Token ids [rows, T] of any integer dtype -> logits [rows, T, V] on the same device."""
        if tokens.dim() != 2 or tokens.is_floating_point():
            raise TypeError(
                f"the kit gives the model {tokens.dtype} {list(tokens.shape)}, expected token ids [rows, T]"
            )
        ids = tokens.detach().to("cpu", torch.int32).contiguous()
        return self.channel.ask(ids).to(tokens.device)
