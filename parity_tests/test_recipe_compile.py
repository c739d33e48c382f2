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
from scorer.contest import load
from scorer.room.kit import ensure_kit


def test_two_ranks_compile_one_graph_in_the_first_update_though_the_batch_grows(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("NEURON_COMPETITION_R1_CACHE_DIR", str(ensure_kit(load("embedded")).cache_dir))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        (tmp_path / "port").write_text(str(free.getsockname()[1]), encoding="utf-8")
    mp.start_processes(recipe_compiled.run, args=(str(tmp_path),), nprocs=2, start_method="spawn")
    saved = torch.load(tmp_path / CHECKPOINT, weights_only=True)["model_state"]
    assert recipe_compiled.KNOBS["num_steps"] > prepare.TRAIN_STARTUP_STEPS_EXCLUDED
    for rank in range(2):
        told = json.loads((tmp_path / f"{rank}.json").read_text(encoding="utf-8"))
        assert told["graphs"] == [1] * recipe_compiled.KNOBS["num_steps"]
        assert told["breaks"] == told["recompiles"] == {}
        assert told["other"] == 2 - rank  # rank 0 had rows of another length, too: another graph would have been seen
        assert told["names"] == list(saved)
        assert not any("_orig_mod" in name for name in saved)
