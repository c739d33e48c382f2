"""Several hosts: a torchrun on each, which meet where they are told to; a whole run in shards, and its checkpoint."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from parity_tests.recipe_hosts import config_of
from recipe.checkpoint import CHECKPOINT, load_model
from recipe.model import make_model
from scorer.contest import load
from scorer.room.kit import ensure_kit

ROOT = Path(__file__).parents[1]


@pytest.mark.long
def test_two_hosts_train_in_shards_what_they_train_without_and_one_device_loads_it(tmp_path: Path) -> None:
    """Two launches of one rank each on this machine, as on two; one of two ranks for the run without shards."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    kit = str(ensure_kit(load("embedded")).cache_dir)
    places = os.pathsep.join(str(ROOT / place) for place in (".", "scorer/standins/neuron", "scorer/standins/kit"))
    environment = os.environ | {
        "NEURON_COMPETITION_R1_CACHE_DIR": kit, "PYTHONPATH": places, "OMP_NUM_THREADS": "1"
    }  # fmt: skip
    torchrun, meet = [sys.executable, "-m", "torch.distributed.run"], f"--rdzv_endpoint=127.0.0.1:{port}"
    program = ["-m", "parity_tests.recipe_hosts"]
    host = ["--nnodes=2", "--nproc_per_node=1", "--rdzv_backend=c10d", meet, "--rdzv_id=hosts", *program, "sharded"]
    alone = ["--standalone", "--nproc_per_node=2", *program, "whole"]
    for launches in ([host, host], [alone]):
        running = [
            subprocess.Popen(
                [*torchrun, *words, str(tmp_path)], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                text=True,
            )
            for words in launches
        ]  # fmt: skip
        try:
            said = [one.communicate(timeout=120)[0] for one in running]
        finally:
            for one in running:
                one.terminate()  # torchrun ends its ranks
        assert [one.returncode for one in running] == [0] * len(running), said
    results = {
        name: [torch.load(tmp_path / name / f"{rank}.pt", weights_only=True) for rank in range(2)]
        for name in ("sharded", "whole")
    }
    loaded = load_model(str(tmp_path / "sharded" / CHECKPOINT), "cpu", config_of("sharded"))
    torch.manual_seed(config_of("sharded").seed)
    start = make_model(config_of("sharded"), torch.float32)
    start.initialize()
    for name, tensor in loaded.state_dict().items():
        assert all(torch.equal(tensor, each[name]) for each in results["sharded"]), name
        assert torch.allclose(tensor, results["whole"][0][name], atol=2e-4), name
    for name in ("embed.token.weight", "embed.pair.weight", "head.weight", "blocks.1.mlp.down.weight"):
        assert not torch.allclose(loaded.get_parameter(name), start.get_parameter(name), atol=1e-3), name
    assert not loaded.training
    assert loaded(torch.zeros(1, 50, dtype=torch.int32)).isfinite().all()
