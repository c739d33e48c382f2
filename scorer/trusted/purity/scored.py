"""What was scored, looked at again: a process that never saw the scored batches must give the same logits.

While the judge scores, it keeps a few positions of a few rows, drawn by a secret seed: of each the tokens, and the
logits before a cut. When the process that was scored has ended, another one, started afterwards in a room of its own,
gets these rows with everything from the cut on replaced, shuffled, in batches of another size. A model that is pure
gives the same logits there. One that looks ahead, counts calls, knows batches or keeps caches while it is scored does
not, however it behaves in the tests: it would have to know then what only the scored process saw.

A tolerance per logit would hide something that adds a little to every target. So the worth of what lies ahead is
measured, too: the nats of the target right before the cut, with and without it ahead, which must agree on average, as
closely as they are spread; yet no more than rounding spreads them, or a leak in few rows would widen what it may be.
"""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass

import torch

from scorer.contest import Purity
from scorer.findings import define
from scorer.trusted.model import Model
from scorer.trusted.nats import cross_entropy
from scorer.trusted.purity.bench import Bench, other_tokens
from scorer.trusted.purity.record import Record, Test
from scorer.trusted.tolerance import Change, Difference, scored, unit

PUR028 = define(
    "PUR028",
    title="What was scored is not what the model gives for these tokens",
    why="A second process, given the same tokens up to a position and others from there on, gives other logits before "
    "it: the scored ones come from what lies ahead, from earlier batches or from knowing that they are scored.",
    remedy="Compute logits from the tokens before a position and from the weights, and from nothing else.",
)
SCORED = Test("scored batches", PUR028)
WORTH = Test("worth of what lies ahead", PUR028)
KEPT_POSITIONS = 4  # before the cut, beside the one right before it
LAST_SHARE = 0.1
STANDARD_ERRORS = 4.0


@dataclass(frozen=True)
class Sample:
    """One scored row. `logits` [K, V] are those at `positions`, of which the last one is right before `cut`.

    `control` [V] are those at the cut, which must change; none where the cut lies behind the row's end, and only its
    neighbours in the batch change.
    """

    tokens: torch.Tensor  # int32 [T]
    cut: int
    positions: list[int]
    logits: torch.Tensor
    control: torch.Tensor | None
    target: int  # of the position right before the cut
    nats: float  # of that target, as it was scored


class Sampler:
    """Draws `wanted` of `rows` rows before the first one is scored. `seed` is what makes it repeatable."""

    def __init__(self, wanted: int, rows: int) -> None:
        self.seed = secrets.token_hex(16)
        self.samples: list[Sample] = []
        self._generator = torch.Generator().manual_seed(int(self.seed, 16) % 2**63)
        self._chosen = set(torch.randperm(rows, generator=self._generator)[:wanted].tolist())
        self._seen = 0

    def see(self, inputs: torch.Tensor, targets: torch.Tensor, logits: torch.Tensor, nats: torch.Tensor) -> None:
        """One scored batch: inputs and targets [B, T], logits [B, T, V] as they were scored, nats [B x T]."""
        losses = nats.view(inputs.shape)
        for row in range(len(inputs)):
            if self._seen in self._chosen:
                self.samples.append(self._sample(inputs[row], targets[row], logits[row], losses[row]))
            self._seen += 1

    def _sample(self, tokens: torch.Tensor, targets: torch.Tensor, logits: torch.Tensor, nats: torch.Tensor) -> Sample:
        # A target that was foreseen is a better place to look at than one that was not; a row's last one stands in the
        # next row of the batch.
        weights = (-nats).exp()
        weights += weights.mean() + 1e-6
        weights[-1] = weights.sum() * LAST_SHARE
        last = int(torch.multinomial(weights, 1, generator=self._generator))
        others = torch.randint(0, last + 1, (KEPT_POSITIONS,), generator=self._generator).tolist()
        positions = [*others, last]
        control = logits[last + 1].clone() if last + 1 < len(tokens) else None
        kept = logits[positions].clone()
        return Sample(tokens.clone(), last + 1, positions, kept, control, int(targets[last]), float(nats[last]))


def verify(
    model: Model, record: Record, settings: Purity, samples: list[Sample], agreement_bpb: float, bytes_per_token: float
) -> None:
    """Ask a model about the sampled rows, in a process that has not seen any scored batch."""
    empty = torch.empty(0)
    bench = Bench(model, record, settings, empty, empty, empty)
    size = max(settings.batch_sizes)
    of_length: dict[int, list[Sample]] = {}
    for sample in samples:
        of_length.setdefault(len(sample.tokens), []).append(sample)
    gains: list[float] = []
    sizes: list[float] = []  # of a usual token's |log p|, which no masked token enlarges
    worst: Difference | None = None
    moved = False
    for length, together in sorted(of_length.items()):
        order = torch.randperm(len(together)).tolist()
        for start in range(0, len(order), size):
            batch = [together[index] for index in order[start : start + size]]
            filled = [*batch, *together[: max(0, size - len(batch))]]
            tokens = torch.stack([_replaced(sample, filled[index - 1].tokens) for index, sample in enumerate(filled)])
            logits = bench.model.forward(tokens)
            for row, sample in enumerate(batch):
                before = sample.positions
                difference = bench.compare(sample.logits.float(), logits[row, before], Change.SHAPE)
                gains.append(_nats(logits[row, before[-1]], sample.target) - sample.nats)
                sizes.append(float(scored(sample.logits[-1].float()).abs().median()))
                if sample.control is not None:
                    moved = moved or not torch.equal(sample.control.float(), logits[row, sample.cut])
                if difference.exceeded:
                    message = (
                        f"the logits scored at position {before[difference.position[0]]} of a row of {length} tokens "
                        f"are not those of a second process, which gets other tokens from position {sample.cut} on"
                    )
                    bench.failed(SCORED, _rows(samples), message, None, difference)
                    return
                if worst is None or difference.largest > worst.largest:
                    worst = difference
    if not samples:
        bench.record.not_run(SCORED, "no rows", "the profile asks for none, or the rows are too short")
    elif not moved:
        bench.record.void(SCORED, _rows(samples), "replacing a row's last tokens changes none of its logits")
    else:
        bench.passed(SCORED, _rows(samples), worst)
        spread = unit(bench.dtypes(Change.SHAPE)) * sum(sizes) / len(sizes)
        _worth(bench, gains, spread, agreement_bpb, bytes_per_token)


def _worth(bench: Bench, gains: list[float], spread: float, agreement_bpb: float, bytes_per_token: float) -> None:
    """Whether targets are cheaper with the rest of the row ahead than without, in bits per byte over all targets.

    `spread` bounds the standard deviation, in nats, that rounding can give to one target's gain.
    """
    values = torch.tensor(gains, dtype=torch.float64)
    error = min(float(values.std(unbiased=True)), spread) / math.sqrt(len(gains)) if len(gains) > 1 else 0.0
    scale = 1 / (math.log(2) * bytes_per_token)
    gain, allowed = float(values.mean()) * scale, max(agreement_bpb, STANDARD_ERRORS * error * scale)
    difference = Difference(gain, allowed, gain > allowed, (), tuple(sorted(bench.dtypes(Change.SHAPE))), "bpb")
    trial = f"{len(gains)} targets, each right before the cut"
    if difference.exceeded:
        bench.failed(
            WORTH, trial, "targets were scored better with the rest of the row ahead of them", None, difference
        )
    else:
        bench.passed(WORTH, trial, difference)


def _replaced(sample: Sample, others: torch.Tensor) -> torch.Tensor:
    tokens = sample.tokens.clone()
    if sample.cut < len(tokens):
        tokens[sample.cut :] = other_tokens(sample.tokens[sample.cut :], others[sample.cut :].roll(1))
    return tokens


def _nats(logits: torch.Tensor, target: int) -> float:
    return float(cross_entropy(logits[None, None], torch.tensor([[target]])))


def _rows(samples: list[Sample]) -> str:
    return f"{len(samples)} rows with their last tokens replaced"
