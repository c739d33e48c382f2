"""What a model process may answer: a schema for each command, with bounds; anything else breaks the protocol.

The process holds code that nobody trusts, which can find the channel and write any reply itself. So a reply is evidence
against the submission at most, and this is what is believed of each:

    Forwarded   that the batch is done. `dtype` says how to read the buffer, whose bits the submission chose anyway;
                `exact`, `type`, `shape`, `device` and `input_intact` can only end the scoring or raise a finding.
                The judge looks for itself whether the ids in the slot are as they were, and copies the logits once.
    Loaded, Activations     nothing that would count for it: names and lines for messages, dtypes for the tolerance,
                of which the widest is that of bfloat16.
    State       hashes that should be equal before and after; a lie hides a change that the logits then show.
    Located, Conduct, Imported, Failed   words and lines for messages.

No reply holds a number of the score: those are computed from the buffer, the judge's own targets and its own clock.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

LONGEST_REPLY = 4 * 2**20  # the state of a model with tens of thousands of tensors

Word = Annotated[str, Field(max_length=500)]
Words = Annotated[str, Field(max_length=4000)]
Index = Annotated[int, Field(ge=0, le=2**40)]
Line = Annotated[int, Field(ge=1, le=10**8)]


class Reply(BaseModel):
    """Base of all replies."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    nonce: Word
    ok: bool


class Problem(BaseModel):
    """An exception, and the lines of train.py that it came through, innermost last."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    type: Word
    message: Words
    frames: Annotated[list[tuple[Index, Word]], Field(max_length=100)]

    @property
    def line(self) -> int | None:
        """Line of train.py in which it rose."""
        return self.frames[-1][0] if self.frames else None


class Failed(Reply):
    """The command raised."""

    error: Problem


class Done(Reply):
    """The command is carried out, and there is nothing to say of it."""


class Imported(Reply):
    """`hooks`: module-level functions and their parameters; `changed`: what was replaced outside, in words."""

    hooks: Annotated[dict[Word, list[Word]], Field(max_length=20_000)]
    changed: Annotated[list[Words], Field(max_length=100)]


class Loaded(Reply):
    """The model that the hook returned; `module` is False where it is none, and the rest then empty."""

    module: bool
    type: Word
    training: Annotated[list[Word], Field(max_length=100_000)] = []
    parameters: list[tuple[Word, Annotated[list[Index], Field(max_length=16)], Word, Word]] = []
    devices: Annotated[list[Word], Field(max_length=16)] = []
    dtypes: Annotated[list[Word], Field(max_length=32)] = []
    forward: Line | None = None
    hooks: Annotated[list[Word], Field(max_length=100)] = []
    changed: Annotated[list[Words], Field(max_length=100)] = []


class Forwarded(Reply):
    """One batch."""

    exact: bool
    type: Word
    shape: Annotated[list[Index], Field(max_length=64)] | None
    input_intact: bool
    dtype: Word | None = None
    device: Word | None = None


class State(Reply):
    """(kind, name, hash) of all that the model keeps."""

    entries: list[tuple[Word, Word, Word]]


class Activations(Reply):
    """The floating dtypes of one batch's activations."""

    dtypes: Annotated[list[Word], Field(max_length=32)]


class Located(Reply):
    """Where two runs differ first."""

    module: Word | None
    line: Line | None


class Conduct(Reply):
    """What the submission did beside computing: (function, line) of collectives and of training, and other things."""

    collectives: Annotated[list[tuple[Word, Line | None]], Field(max_length=100)]
    training: Annotated[list[tuple[Word, Line | None]], Field(max_length=100)]
    hooks: Annotated[list[Words], Field(max_length=1000)]
    changed: Annotated[list[Words], Field(max_length=100)]
    launches: Annotated[dict[Word, Index], Field(max_length=10_000)]


KINDS: dict[str, type[Reply]] = {
    "import": Imported,
    "load": Loaded,
    "forward": Forwarded,
    "state": State,
    "dtypes": Activations,
    "locate": Located,
    "conduct": Conduct,
    "end": Done,
}
"""Command -> what it answers where it does not fail."""


class _Head(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore")

    nonce: Word
    ok: bool


def read(line: bytes, operation: str, nonce: str) -> Reply:
    """One reply to one command: of its kind, or Failed. Raises ValueError in words for anything else."""
    shown = repr(line[:80])
    try:
        head = _Head.model_validate_json(line)
    except ValidationError:
        raise ValueError(f"the result channel carried {shown}, which is no reply") from None
    if head.nonce != nonce:
        raise ValueError(f"the result channel carried {shown}, which no command asked for")
    try:
        return (KINDS[operation] if head.ok else Failed).model_validate_json(line)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))[:100]
        raise ValueError(
            f"the result channel carried {shown}, no answer to {operation}: {where}: {first['msg']}"
        ) from None
