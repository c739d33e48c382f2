"""Scoring: every measurement of one model, in as few passes over the tokens as there are kinds of batches."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence

import torch

from scorer.contest import EvaluationSettings, Profile
from scorer.room.receipts import Evaluation
from scorer.trusted import settings as ways
from scorer.trusted.model import Model
from scorer.trusted.nats import Sums, cross_entropy, rows
from scorer.trusted.process import ModelProcessError
from scorer.trusted.purity.memory import judge as judge_memory
from scorer.trusted.purity.record import Record
from scorer.trusted.purity.scored import Sampler
from scorer.trusted.streams import Streams

Wanted = Sequence[tuple[str, EvaluationSettings]]
WARM_BATCHES = 4  # until then, a process that works for the first time fetches memory that it keeps


def passes(wanted: Wanted) -> list[list[tuple[str, EvaluationSettings]]]:
    """The measurements by pass, each pass with its longest first.

    One whose tokens are the first whole batches of a longer one shares that one's pass.
    """
    found: dict[tuple[object, ...], list[tuple[str, EvaluationSettings]]] = {}
    for name, settings in sorted(wanted, key=lambda pair: -pair[1].max_tokens):
        kind: tuple[object, ...] = (settings.split, settings.seq_len, settings.batch_size, settings.world_size)
        whole = ways.per_rank(settings) % (settings.seq_len * settings.batch_size) == 0
        if kind in found and not whole:
            kind = (*kind, settings.max_tokens)
        found.setdefault(kind, []).append((name, settings))
    return list(found.values())


def num_rows(wanted: Wanted) -> int:
    """Rows of all passes together, a shorter last one of a rank's included."""
    longest = [together[0][1] for together in passes(wanted)]
    return sum(one.world_size * math.ceil(ways.per_rank(one) / one.seq_len) for one in longest)


def measure(
    model: Model,
    streams: Streams,
    profile: Profile,
    wanted: Wanted,
    sampler: Sampler,
    record: Record,
    say: Callable[[str], None],
) -> list[Evaluation]:
    """Every measurement, in the order of `wanted`. ModelProcessError where one takes longer than the contest allows."""
    found: dict[str, Evaluation] = {}
    for together in passes(wanted):
        longest = together[0][1]
        say(f"scoring {ways.num_targets(longest):,} tokens of {longest.split}, context {longest.seq_len}")
        for one in _one_pass(model, streams, profile, together, sampler, record):
            found[one.name] = one
    return [found[name] for name, _ in wanted]


def _one_pass(
    model: Model, streams: Streams, profile: Profile, together: Wanted, sampler: Sampler, record: Record
) -> Iterator[Evaluation]:
    """Settings that differ in the token count alone, longest first; all ranks go through the model in one stream."""
    longest = together[0][1]
    sums = [Sums() for _ in together]
    took = [0.0 for _ in together]
    batches = held = reached = 0
    count = ways.per_rank(longest)
    began = time.monotonic()
    for inputs, targets, logits in model.stream(_batches(streams, longest)):
        losses, lengths = cross_entropy(logits, targets), streams.token_bytes[targets.flatten()]
        wanted = [one for one, (_, settings) in enumerate(together) if reached < ways.per_rank(settings)]
        for one in wanted:
            sums[one].add(losses, lengths)
        reached = (reached + targets.numel()) % count  # from 0 for each rank
        sampler.see(inputs, targets, logits, losses)
        batches += 1
        if batches == WARM_BATCHES:
            held = model.process.host.memory()
        now = time.monotonic()
        for one in wanted:
            took[one] += now - began
        began = now
        _in_time(took[0] / longest.world_size, profile.budget.eval_timeout_seconds)
    if batches > WARM_BATCHES:
        trial = f"{batches - WARM_BATCHES} scored batches of {longest.batch_size} x {longest.seq_len}"
        judge_memory(record, trial, held, model.process.host.memory(), profile.evaluation.purity.growth_bytes)
    for (name, settings), total, seconds in zip(together, sums, took, strict=True):
        yield Evaluation(
            name=name,
            split=settings.split,
            seq_len=settings.seq_len,
            batch_size=settings.batch_size,
            world_size=settings.world_size,
            device=profile.machine.device,
            num_tokens=total.num_tokens,
            num_bytes=total.num_bytes,
            total_nats=total.total_nats.hex(),
            val_bpb=total.val_bpb.hex(),
            seconds=seconds,
        )


def _batches(streams: Streams, settings: EvaluationSettings) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Inputs and targets of all ranks, one after the other."""
    for rank in range(settings.world_size):
        stream = streams.stream(settings.split, rank, settings.world_size, ways.per_rank(settings))
        yield from rows(stream, settings.batch_size, settings.seq_len)


def _in_time(seconds: float, limit: float) -> None:
    if seconds > limit:
        raise ModelProcessError("timed out", f"the evaluation ran over the contest's limit of {limit:g} s")
