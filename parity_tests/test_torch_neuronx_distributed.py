"""The process group "neuron" at 1, 2, 4 and 8 ranks."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
WORLDS = (1, 2, 4, 8)
Ranks = dict[int, list[dict[str, Any]]]


@pytest.fixture(scope="module")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> Ranks:
    """World size -> what each rank ended with."""
    out = tmp_path_factory.mktemp("ranks")
    run = subprocess.run(
        [sys.executable, str(HERE / "torch_neuronx_ranks.py"), str(out), *map(str, WORLDS)],
        env={**os.environ, "PYTHONPATH": str(HERE.parent / "scorer/standins/neuron"), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert run.returncode == 0, run.stderr
    return {
        world: [json.loads((out / f"{world}-{rank}.json").read_text()) for rank in range(world)] for world in WORLDS
    }


def total(world: int) -> float:
    return world * (world + 1) / 2


# What rank `r` of `w` ends with, where rank r puts in r + 1.
EXPECTED: dict[str, Callable[[int, int], Any]] = {
    "all_reduce sum": lambda r, w: [total(w)] * 2,
    "all_reduce max": lambda r, w: [w] * 2,
    "all_reduce product": lambda r, w: [math.factorial(w)] * 2,
    "all_reduce bf16 average": lambda r, w: [(w + 1) / 2] * 2,
    "all_reduce of whole numbers": lambda r, w: [int(total(w))] * 2,
    "all_reduce later": lambda r, w: [1.0] * 2,
    "all_reduce of a view": lambda r, w: [[0.0, 0.0], [total(w)] * 2, [0.0, 0.0]],
    "broadcast": lambda r, w: [w] * 2,
    "all_gather": lambda r, w: [[other + 1.0] * 2 for other in range(w)],
    "all_gather_into_tensor": lambda r, w: [other + 1.0 for other in range(w) for _ in range(2)],
    "reduce_scatter_tensor": lambda r, w: [2 * r * total(w), (2 * r + 1) * total(w)],
    "reduce_scatter": lambda r, w: [total(w) + w * r],
    "reduce": lambda r, w: [total(w)] * 2 if r == 0 else None,
    "gather": lambda r, w: [[other + 1.0] * 2 for other in range(w)] if r == 0 else None,
    "scatter": lambda r, w: [1.0 + r] * 2,
    "send and recv": lambda r, w: [(r - 1) % w + 1.0] * 2,
    "all_reduce in a group of two": lambda r, w: [total(min(2, w)) if r < 2 else r + 1.0] * 2,
    "functional all_gather": lambda r, w: [other + 1.0 for other in range(w) for _ in range(2)],
    "functional all_reduce": lambda r, w: [total(w)] * 2,
    "all_gather_into_tensor together": lambda r, w: [
        other + 1.0 for size in (2, 3) for other in range(w) for _ in range(size)
    ],
    "reduce_scatter_tensor together": lambda r, w: [r * total(w)] * 2,
    "all_reduce together": lambda r, w: [total(w)] * 5,
    "all_to_all_single": lambda r, w: [r + 10.0 * other for other in range(w)],
}


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("device", ["neuron", "cpu"])
def test_operations_end_with_the_right_values(ranks: Ranks, world: int, device: str) -> None:
    for rank, found in enumerate(ranks[world]):
        expected = {name: value(rank, world) for name, value in EXPECTED.items()}
        assert found[device] == {name: value for name, value in expected.items() if value is not None}


@pytest.mark.parametrize("world", WORLDS)
def test_the_group_says_its_name_and_carries_objects(ranks: Ranks, world: int) -> None:
    for found in ranks[world]:
        assert found["backend"] == "neuron"
        assert found["objects"] == [[10 * rank for rank in range(world)], ["from 0"]]


@pytest.mark.parametrize("world", WORLDS)
def test_data_parallel_averages_gradients(ranks: Ranks, world: int) -> None:
    assert [found["data parallel"] for found in ranks[world]] == [[[(world + 1) / 2] * 2] * 2] * world
