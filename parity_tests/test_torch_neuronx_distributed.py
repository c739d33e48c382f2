"""The process group "neuron" under torchrun, two ranks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
WORLD = 2


@pytest.fixture(scope="module")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    out = tmp_path_factory.mktemp("ranks")
    environment = {
        **os.environ,
        "PYTHONPATH": str(HERE.parent / "scorer/standins/neuron"),
        "OMP_NUM_THREADS": "1",
    }
    run = subprocess.run(
        [
            *[sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc_per_node={WORLD}"],
            *[str(HERE / "torch_neuronx_ranks.py"), str(out)],
        ],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.returncode == 0, run.stderr
    return [json.loads((out / f"{rank}.json").read_text()) for rank in range(WORLD)]


EXPECTED: dict[str, list[Any]] = {
    "all_reduce": [[3.0, 3.0]] * 2,
    "all_reduce bf16 average": [[1.5, 1.5]] * 2,
    "all_reduce later": [[2.0, 2.0]] * 2,
    "all_reduce of a view": [[[0.0, 0.0], [3.0, 3.0], [0.0, 0.0]]] * 2,
    "broadcast": [[2.0, 2.0]] * 2,
    "all_gather": [[[1.0, 1.0], [2.0, 2.0]]] * 2,
    "all_gather_into_tensor": [[1.0, 1.0, 2.0, 2.0]] * 2,
    "reduce_scatter_tensor": [[0.0, 3.0], [6.0, 9.0]],
    "all_reduce in a group of two": [[3.0, 3.0]] * 2,
    "functional all_reduce": [[3.0, 3.0]] * 2,
    "all_to_all_single": [[0.0, 10.0], [1.0, 11.0]],
    "send and recv": [[1.0, 1.0]] * 2,
}


@pytest.mark.parametrize("device", ["neuron", "cpu"])
@pytest.mark.parametrize("operation", EXPECTED)
def test_operations_end_with_the_right_values(ranks: list[dict[str, Any]], operation: str, device: str) -> None:
    assert [rank[device][operation] for rank in ranks] == EXPECTED[operation]


def test_reduce_ends_at_its_rank(ranks: list[dict[str, Any]]) -> None:
    assert ranks[0]["neuron"]["reduce"] == [3.0, 3.0]


def test_the_group_says_its_name_and_carries_objects(ranks: list[dict[str, Any]]) -> None:
    assert [rank["backend"] for rank in ranks] == ["neuron"] * WORLD
    assert [rank["objects"] for rank in ranks] == [[0, 10]] * WORLD


def test_data_parallel_averages_gradients(ranks: list[dict[str, Any]]) -> None:
    assert [rank["data parallel"] for rank in ranks] == [[[1.5, 1.5], [1.5, 1.5]]] * WORLD
