"""Several hosts: a torchrun on each, which meet where they are told to; a whole run in shards, and its checkpoint."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import torch

from parity_tests.recipe_hosts import sharded
from recipe.checkpoint import CHECKPOINT, load_model
from recipe.model import make_model
from scorer.contest import load
from scorer.room.kit import ensure_kit

ROOT = Path(__file__).parents[1]


def test_two_hosts_train_in_shards_what_they_train_without_and_one_device_loads_it(tmp_path: Path) -> None:
    """Two launches of one rank each on this machine, as on two: about 15 seconds of processor time."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    kit = str(ensure_kit(load("embedded")).cache_dir)
    places = os.pathsep.join(str(ROOT / place) for place in (".", "scorer/standins/neuron", "scorer/standins/kit"))
    environment = os.environ | {
        "NEURON_COMPETITION_R1_CACHE_DIR": kit, "PYTHONPATH": places, "OMP_NUM_THREADS": "1"
    }  # fmt: skip
    launch = [
        sys.executable, "-m", "torch.distributed.run", "--nnodes=2", "--nproc_per_node=1", "--rdzv_backend=c10d",
        f"--rdzv_endpoint=127.0.0.1:{port}", "--rdzv_id=hosts", "-m", "parity_tests.recipe_hosts", str(tmp_path),
    ]  # fmt: skip
    hosts = [
        subprocess.Popen(launch, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for _ in range(2)
    ]
    said = [host.communicate(timeout=300)[0] for host in hosts]
    assert [host.returncode for host in hosts] == [0, 0], said
    results = {
        name: [torch.load(tmp_path / name / f"{rank}.pt", weights_only=True) for rank in range(2)]
        for name in ("sharded", "whole")
    }
    loaded = load_model(str(tmp_path / "sharded" / CHECKPOINT), "cpu", sharded())
    torch.manual_seed(sharded().seed)
    start = make_model(sharded(), torch.float32)
    start.initialize()
    for name, tensor in loaded.state_dict().items():
        assert all(torch.equal(tensor, each[name]) for each in results["sharded"]), name
        assert torch.allclose(tensor, results["whole"][0][name], atol=2e-4), name
    for name in ("embed.token.weight", "embed.pair.weight", "head.weight", "blocks.1.mlp.down.weight"):
        assert not torch.allclose(loaded.get_parameter(name), start.get_parameter(name), atol=1e-3), name
    assert not loaded.training
    assert loaded(torch.zeros(1, 50, dtype=torch.int32)).isfinite().all()
