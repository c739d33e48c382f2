"""The compiled recipe: one graph, made in the first update, and none in the time that is charged."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import prepare
import pytest
import torch
import torch.multiprocessing as mp

from parity_tests import recipe_compiled
from recipe.checkpoint import CHECKPOINT


@pytest.mark.long
def test_two_ranks_compile_one_graph_in_the_first_update_though_the_batch_grows(one_rank: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        (one_rank / "port").write_text(str(free.getsockname()[1]), encoding="utf-8")
    mp.start_processes(recipe_compiled.run, args=(str(one_rank),), nprocs=2, start_method="spawn")
    saved = torch.load(one_rank / CHECKPOINT, weights_only=True)["model_state"]
    assert recipe_compiled.KNOBS["num_steps"] > prepare.TRAIN_STARTUP_STEPS_EXCLUDED
    for rank in range(2):
        told = json.loads((one_rank / f"{rank}.json").read_text(encoding="utf-8"))
        assert told["graphs"] == [1] * recipe_compiled.KNOBS["num_steps"]
        assert told["breaks"] == told["recompiles"] == {}
        assert told["other"] == 2 - rank  # rank 0 had rows of another length, too: another graph would have been seen
        assert told["names"] == list(saved)
        assert not any("_orig_mod" in name for name in saved)
