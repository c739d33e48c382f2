"""The judge's arithmetic: exact sums, rows and streams as the kit cuts them, tolerances, steps of the offset."""

from __future__ import annotations

import ast
import math
import os
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import prepare
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from scorer.contest import EvaluationSettings, load
from scorer.room.cleanroom import Room
from scorer.room.kit import KitPaths, ensure_kit
from scorer.trusted import process
from scorer.trusted import settings as ways
from scorer.trusted.kit_process import KitProcess
from scorer.trusted.nats import ExactSum, Sums, cross_entropy, rows
from scorer.trusted.streams import StreamError, Streams
from scorer.trusted.tolerance import Change, compare, unit

FLOATS = st.floats(width=32, allow_nan=False, allow_infinity=False, min_value=-(2.0**100), max_value=2.0**100)


@settings(deadline=None)
@given(st.lists(st.lists(FLOATS, max_size=20), max_size=6))
def test_sums_are_exact_however_they_are_cut(parts: list[list[float]]) -> None:
    total = ExactSum()
    for part in parts:
        total.add(np.array(part, dtype=np.float32))
    assert total.total == sum((Fraction(value) for part in parts for value in part), Fraction(0))


def test_a_plain_sum_would_round() -> None:
    values = np.array([1e8, 1.0, -1e8], dtype=np.float32)
    total = ExactSum()
    total.add(values)
    assert float(total.total) == 1.0
    assert float(values.sum(dtype=np.float32)) != 1.0


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_a_sum_refuses_what_no_integer_stands_for(value: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        ExactSum().add(np.array([1.0, value], dtype=np.float32))


def test_targets_without_bytes_count_as_tokens_only() -> None:
    sums = Sums()
    sums.add(torch.tensor([1.0, 2.0, 4.0]), torch.tensor([3, 0, 1]))
    assert (sums.total_nats, sums.num_bytes, sums.num_tokens) == (5.0, 4, 3)
    assert sums.val_bpb == 5.0 / (math.log(2) * 4)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_cross_entropy_is_computed_in_fp32_in_any_chunks(dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    generator = torch.Generator().manual_seed(1)
    logits = (8 * torch.randn(3, 5, 11, generator=generator)).to(dtype)
    targets = torch.randint(0, 11, (3, 5), generator=generator)
    whole = cross_entropy(logits, targets)
    monkeypatch.setattr("scorer.trusted.nats.LARGEST_CHUNK", 22)
    assert torch.equal(whole, cross_entropy(logits, targets))
    exact = -logits.double().log_softmax(-1).gather(-1, targets[..., None]).flatten()
    assert whole.dtype is torch.float32
    assert torch.allclose(whole.double(), exact, rtol=1e-6, atol=1e-6)


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 70), st.integers(1, 4), st.integers(1, 9))
def test_rows_are_cut_as_the_kit_cuts_them(count: int, batch_size: int, seq_len: int) -> None:
    stream = torch.arange(count + 1)
    ours = list(rows(stream, batch_size, seq_len))
    theirs = list(prepare._rows(stream, batch_size, seq_len))
    assert len(ours) == len(theirs)
    for (inputs, targets), (their_inputs, their_targets) in zip(ours, theirs, strict=True):
        assert torch.equal(inputs, their_inputs)
        assert torch.equal(targets, their_targets)
    assert torch.equal(torch.cat([targets.flatten() for _, targets in ours]), stream[1:])


@pytest.fixture(scope="module")
def kit() -> KitPaths:
    return ensure_kit(load("embedded"))


def read(kit: KitPaths, *wanted: EvaluationSettings) -> dict[tuple[str, int, int], torch.Tensor]:
    """Streams as the reader gives them, by (split, rank, world size)."""
    with Room(without=("network",)) as room:
        environment = room.environment(
            pythonpath=[kit.directory], variables={"NEURON_COMPETITION_R1_CACHE_DIR": str(kit.cache_dir)}
        )
        rules = load("embedded").kit
        process = KitProcess(room, environment, rules)
        try:
            streams = Streams(process, room.records / "streams", rules, wanted, purity=("public_val", 512))
            streams.wait(300.0)
            assert streams.facts["text_bytes"] == streams.facts["table_bytes"] > 0
            assert streams.vocabulary == prepare.TOKENIZER_VOCAB_SIZE
            assert streams.purity_rows(4, 128).shape == (4, 128)
            lacking = [lack for one in wanted if (lack := streams.lacks(one)) is not None]
            if lacking:
                raise StreamError("; ".join(lacking))
            return {
                (one.split, rank, one.world_size): streams.stream(one.split, rank, one.world_size, ways.per_rank(one))
                for one in wanted
                for rank in range(one.world_size)
            }
        finally:
            process.close()


def test_streams_are_what_the_kits_own_evaluation_scores(kit: KitPaths, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "NEURON_COMPETITION_R1_CACHE_DIR", str(kit.cache_dir))
    one = EvaluationSettings(split="public_val", max_tokens=1001, seq_len=128, batch_size=4, world_size=1)
    two = one.model_copy(update={"split": "private_val", "world_size": 2})
    found = read(kit, one, two)
    tokenizer = prepare.ensure_tokenizer()
    assert len(found) == 3
    for (split, rank, world_size), stream in found.items():
        count = math.ceil(1001 / world_size)
        expected = prepare._evaluation_tokens(tokenizer, split, rank, world_size, count)
        assert torch.equal(stream.long(), expected), (split, rank, world_size)


def test_a_split_that_is_too_small_says_so(kit: KitPaths) -> None:
    greedy = EvaluationSettings(split="public_val", max_tokens=10**8, seq_len=128, batch_size=4, world_size=1)
    with pytest.raises(StreamError, match=r"public_val holds .* targets for rank 0 of 1, 100000000 are asked for"):
        read(kit, greedy)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_tolerances_let_rounding_pass_and_nothing_more(dtype: str) -> None:
    generator = torch.Generator().manual_seed(2)
    logits = 5 * torch.randn(4, 8, 32, generator=generator)
    rounding = unit([dtype])
    noise = rounding * logits * torch.randn(4, 8, 32, generator=generator).clamp(-2, 2) / 4
    assert not compare(logits, logits, Change.NOTHING, [dtype]).exceeded
    assert not compare(logits, logits + noise, Change.SHAPE, [dtype]).exceeded
    assert compare(logits, logits + noise, Change.NOTHING, [dtype]).exceeded
    one = torch.zeros_like(logits)
    one[1, 2, 3] = 2 * rounding * float(logits.log_softmax(-1).abs().max())
    found = compare(logits, logits + one, Change.CONTENT, [dtype])
    assert found.exceeded
    assert found.position == (1, 2, 3)
    assert compare(logits, logits * (1 + 2 * rounding), Change.SHAPE, [dtype]).exceeded  # small, but everywhere
    assert not compare(logits, logits + one, Change.SHAPE, [dtype]).exceeded


@pytest.mark.parametrize("change", [Change.CONTENT, Change.SHAPE, Change.GRADIENTS])
def test_a_masked_token_and_a_shift_of_all_logits_loosen_nothing(change: Change) -> None:
    logits = 5 * torch.randn(4, 8, 32, generator=torch.Generator().manual_seed(2))
    other = logits.clone()
    other[0, 0, 0] += 1
    masked, other_masked = logits.clone(), other.clone()
    masked[..., 31] = other_masked[..., 31] = -1e7
    for expected, found in ((logits, other), (masked, other_masked), (logits + 1e4, other + 1e4)):
        assert compare(expected, found, change, ["float32"]).exceeded
    assert not compare(masked, masked, change, ["float32"]).exceeded


def test_the_coarsest_dtype_counts() -> None:
    assert unit(["float32", "bfloat16"]) == unit(["bfloat16"]) == 2.0**-8


def test_a_dtype_that_is_not_listed_loosens_nothing() -> None:
    assert unit(["float64", "float8_e4m3fn"]) == unit([]) == unit(["float32"])


@pytest.mark.parametrize(("scripts", "allowed"), [("host/*.py", {"torch"}), ("kit_host/*.py", {"numpy", "torch"})])
def test_what_runs_beside_a_submission_imports_nothing_of_ours(scripts: str, allowed: set[str]) -> None:
    names = {
        name.split(".")[0]
        for script in Path(process.__file__).parent.glob(scripts)
        for node in ast.walk(ast.parse(script.read_text("utf-8")))
        if isinstance(node, ast.Import) or (isinstance(node, ast.ImportFrom) and node.level == 0)
        for name in ([node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names])
    }
    assert names - sys.stdlib_module_names == allowed


def test_the_way_from_local_to_official_changes_one_thing_at_a_time() -> None:
    profile = load("embedded")
    public, official = profile.evaluation.public, profile.evaluation.official
    assert ways.steps(public, public) == []
    start = public.model_copy(update={"seq_len": 64, "batch_size": 4})
    path = ways.steps(start, official)
    assert [name for name, _ in path] == ["context", "batch size", "shard", "token count"]
    assert path[-1][1] == official
    before = start
    for name, after in path:
        changed = [field for field, value in after.model_dump().items() if value != getattr(before, field)]
        assert changed == [ways.FACTORS[name]]
        before = after


def test_every_measurement_is_made_once() -> None:
    profile = load("embedded")
    names = [name for name, _ in ways.wanted(profile, profile.evaluation.public)]
    assert names == ["trusted, official settings", "trusted, public settings", "trusted, shard changed"]
