"""Sequence lengths: a row gives the same first logits at every length, is causal at each, and is answered at all."""

from __future__ import annotations

import torch

from scorer.findings import define
from scorer.trusted.model import SubmissionError
from scorer.trusted.purity.bench import Bench, other_tokens
from scorer.trusted.purity.causality import looks_back
from scorer.trusted.purity.record import Test
from scorer.trusted.tolerance import Change

PUR020 = define(
    "PUR020",
    title="A sequence length is not answered, or answered otherwise",
    why="The contest scores at lengths of its own choice, not only at the one that was trained.",
    remedy="Compute positions, masks and caches from the length of the input; choose no path by it.",
)
LENGTH = Test("sequence length", PUR020)


def every_length(bench: Bench) -> bool:
    """Try every length of the profile; False once one has failed."""
    own = bench.first.shape[1]
    pool = torch.cat((bench.first, bench.second)).flatten()
    for length in sorted({max(1, round(factor * own)) for factor in bench.settings.length_factors}):
        trial = "1 token" if length == 1 else f"{length} tokens"
        if length == own:
            continue
        if length > len(pool):
            bench.record.not_run(LENGTH, trial, f"the tests have {len(pool)} tokens")
            continue
        longer = pool[: len(pool) // length * length].view(-1, length)[:2]
        tokens = bench.first[:2, :length] if length < own else longer
        try:
            found = bench.model.forward(tokens)
        except SubmissionError as error:
            message = f"rows of {trial}: {error.finding.message}"
            bench.failed(LENGTH, trial, message, error.finding.artifact_line, None, length=length)
            return False
        same = min(length, own)
        rows = len(tokens) if length < own else 1  # a longer row begins with the first short one
        difference = bench.compare(bench.logits[:rows, :same], found[:rows, :same], Change.SHAPE)
        if difference.exceeded:
            message = f"a row's first logits are different when the row has {trial} instead of {own}"
            bench.failed(LENGTH, trial, message, None, difference, length=length)
            return False
        if same > 1 and torch.equal(found[0, 0], found[0, same - 1]):
            bench.record.void(LENGTH, trial, "different positions have the same logits")
            continue
        bench.passed(LENGTH, trial, difference)
        if length > 1 and not _causal(bench, tokens, found):
            return False
    return True


def _causal(bench: Bench, tokens: torch.Tensor, logits: torch.Tensor) -> bool:
    length = tokens.shape[1]
    cuts = [max(1, (row + 1) * length // (len(tokens) + 1)) for row in range(len(tokens))]
    changed = tokens.clone()
    for row, cut in enumerate(cuts):
        changed[row, cut:] = other_tokens(tokens[row, cut:], tokens[row, cut:].roll(1))
    return looks_back(bench, tokens, changed, cuts, logits, f", in rows of {length} tokens")
