"""A submission's model as the judge sees it: batches of token ids in, checked logits out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import torch

from scorer.findings import Finding, define
from scorer.trusted.process import DTYPES, ModelProcess
from scorer.trusted.replies import Activations, Failed, Forwarded, Loaded, Located, State
from scorer.trusted.sources import Source

PUR001 = define(
    "PUR001",
    title="The submission cannot be imported by path",
    why="The scorer imports train.py under another module name, from another directory; what fails there has no score.",
    remedy="Make the module importable without running it: no work at import, no import of files beside it.",
)
PUR002 = define(
    "PUR002",
    title="The import needs an entry in sys.modules",
    why="A scorer may load train.py by path without registering it; a dataclass with string annotations then fails, "
    "because dataclasses look their module up in sys.modules.",
    remedy="Drop `from __future__ import annotations` where the dataclass is, or write the class without @dataclass.",
)
PUR003 = define(
    "PUR003",
    title="A hook is missing or has other parameters",
    why="The scorer calls the contest's hooks by name and position.",
    remedy="Define the hook with the parameters that the contest profile states.",
)
PUR004 = define(
    "PUR004",
    title="The hook that loads the model fails",
    why="What the scorer cannot load, it cannot score.",
    remedy="Call the hook on the saved checkpoint in a fresh process, and mend what it raises.",
)
PUR005 = define(
    "PUR005",
    title="The hook that loads returns no model ready to be scored",
    why="The contest asks for an nn.Module in evaluation mode on the given device.",
    remedy="Return model.to(device).eval().",
)
PUR006 = define(
    "PUR006",
    title="The logits are not what the scorer can use",
    why="The score needs an exact torch.Tensor [B, T, V] of finite floats for every batch; a subclass may compute "
    "later, a NaN hides every error.",
    remedy="Return plain logits for each position and token of the vocabulary, at any batch size and sequence length.",
)
PUR007 = define(
    "PUR007",
    title="The hook that loads changes the weights",
    why="What is scored is then not what was trained: a step on the evaluation data, a merge, a rescaling.",
    remedy="Load the checkpoint strictly and change nothing but dtype and device; do the rest before saving.",
)
PUR013 = define(
    "PUR013",
    title="The forward changes its input",
    why="The scorer computes its targets from the same batch, so a model that edits it edits its own score.",
    remedy="Work on a copy: no in-place operation on the argument of forward.",
)


class SubmissionError(Exception):
    """The submission cannot be scored any further; carries the finding that says why."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.message)
        self.finding = finding


class Model:
    """One loaded model. `forward_line` is the line of its forward in train.py, where a finding has no better place."""

    def __init__(self, process: ModelProcess, source: Source, loaded: Loaded) -> None:
        self.process, self.source, self.loaded = process, source, loaded
        self.vocabulary = process.vocabulary
        self.forward_line: int | None = loaded.forward or source.function(process.submitted.hook)
        self.dtypes: set[str] = set(loaded.dtypes)  # of parameters, buffers and logits
        self.activations: set[str] = set()
        self.dtype: str | None = None  # of the logits, the same in every reply
        self.changed_input = False
        self.elsewhere: str | None = None  # a device other than the one asked for that logits came from
        self._sent: list[tuple[int, torch.Tensor]] = []
        self._next_slot = 0

    def send(self, tokens: torch.Tensor, **flags: bool) -> None:
        """Give the model a batch, int32 [rows, T]; at most two may be under way."""
        slot, self._next_slot = self._next_slot, 1 - self._next_slot
        self.process.put(slot, tokens)
        self.process.poison(slot, tokens.numel(), self.dtype)
        self._sent.append((slot, tokens))
        self.process.send(
            "forward", slot=slot, rows=tokens.shape[0], cols=tokens.shape[1], vocabulary=self.vocabulary, **flags
        )

    def receive(self, copy: torch.Tensor | None = None) -> torch.Tensor:
        """The checked logits [rows, T, V] of the oldest batch under way, in the model's dtype; else SubmissionError.

        They lie in `copy` (see ModelProcess.logits) where it is given.
        """
        slot, tokens = self._sent.pop(0)
        reply = self.process.receive()
        if isinstance(reply, Failed):
            raise self._raised(reply, tokens)
        where = _batch(tokens)
        assert isinstance(reply, Forwarded)
        expected = [*tokens.shape, self.vocabulary]
        if not reply.exact:
            raise self._wrong(f"forward returns a {reply.type}, expected exactly a torch.Tensor")
        if reply.shape != expected:
            raise self._wrong(f"the logits have shape {reply.shape} {where}, expected {expected}")
        if reply.dtype not in DTYPES:
            raise self._wrong(f"the logits are {reply.dtype}, expected one of {', '.join(sorted(DTYPES))}")
        if reply.dtype != (self.dtype or reply.dtype):
            raise self._wrong(f"the logits are {reply.dtype} {where}, and were {self.dtype} before")
        self.dtype = reply.dtype
        if reply.device != self.process.submitted.device:
            self.elsewhere = reply.device
        if not reply.input_intact or not self.process.intact(slot, tokens):
            self.changed_input = True
        self.dtypes.add(reply.dtype)
        logits = self.process.logits(slot, expected, reply.dtype, copy)
        lowest, highest = torch.aminmax(logits)  # NaN wins in both
        if not (torch.isfinite(lowest) and torch.isfinite(highest)):
            row, position, token = (int(i) for i in torch.nonzero(~torch.isfinite(logits))[0])
            raise self._wrong(f"the logit of row {row}, position {position}, token {token} is not finite {where}")
        if not torch.isfinite(highest.float() - lowest.float()):
            reach = f"{float(lowest):.3g} to {float(highest):.3g}"
            raise self._wrong(f"the logits reach from {reach} {where}: a loss would be infinite")
        return logits

    def forward(self, tokens: torch.Tensor, **flags: bool) -> torch.Tensor:
        """Logits of one batch as fp32 [rows, T, V]."""
        return self.answer(tokens, **flags).float()

    def answer(self, tokens: torch.Tensor, **flags: bool) -> torch.Tensor:
        """Logits of one batch [rows, T, V] in the model's dtype."""
        self.send(tokens, **flags)
        return self.receive()

    def stream(
        self, batches: Iterable[tuple[torch.Tensor, torch.Tensor]]
    ) -> Iterator[tuple[torch.Tensor, torch.Tensor, torch.Tensor]]:
        """(inputs, targets, logits) of each (inputs, targets); the model computes one batch while another is used.

        The next logits overwrite the last.
        """
        copy = self.process.room_for_a_copy()
        waiting: list[tuple[torch.Tensor, torch.Tensor]] = []
        for inputs, targets in batches:
            self.send(inputs)
            waiting.append((inputs, targets))
            if len(waiting) == 2:
                logits = self.receive(copy)
                yield *waiting.pop(0), logits
        for inputs, targets in waiting:
            yield inputs, targets, self.receive(copy)

    def locate(
        self,
        first: torch.Tensor,
        second: torch.Tensor,
        pairs: list[tuple[int, int]],
        upto: int,
        relative: float,
        **flags: bool,
    ) -> tuple[str | None, int | None]:
        """The first module whose outputs differ between two batches where they should not: (name, line of forward)."""
        self.process.put(0, first)
        self.process.put(1, second)
        reply = self.process.call(
            "locate",
            slot=0, rows=first.shape[0], cols=first.shape[1],
            other_slot=1, other_rows=second.shape[0], other_cols=second.shape[1],
            pairs=pairs, upto=upto, relative=relative, **flags,
        )  # fmt: skip
        if not isinstance(reply, Located) or reply.module is None:
            return None, self.forward_line
        return reply.module, reply.line or self.forward_line

    def observe(self, tokens: torch.Tensor) -> None:
        """Run one batch, int32 [rows, T], to see which dtypes the model's activations have."""
        self.process.put(0, tokens)
        reply = self.process.call("dtypes", slot=0, rows=tokens.shape[0], cols=tokens.shape[1])
        if isinstance(reply, Failed):
            raise self._raised(reply, tokens)
        assert isinstance(reply, Activations)
        self.activations.update(reply.dtypes)

    def state(self) -> dict[str, tuple[str, str]]:
        """Everything that the model keeps: name -> (kind, hash)."""
        reply = self.process.call("state")
        if isinstance(reply, Failed):
            raise self._wrong(f"the model's state cannot be read: {reply.error.message}")
        assert isinstance(reply, State)
        return {name: (kind, value) for kind, name, value in reply.entries}

    def _raised(self, failed: Failed, tokens: torch.Tensor) -> SubmissionError:
        error = failed.error
        return self._wrong(f"forward raises {error.type} {_batch(tokens)}: {error.message}", error.line)

    def _wrong(self, message: str, line: int | None = None) -> SubmissionError:
        return SubmissionError(self.source.raise_at(PUR006, message, line or self.forward_line))


def _batch(tokens: torch.Tensor) -> str:
    return f"for a batch of {tokens.shape[0]} x {tokens.shape[1]} tokens"
