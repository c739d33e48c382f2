"""A rank that hangs or fails: the run ends in an error, and leaves a whole checkpoint that tells its step truly."""

from __future__ import annotations

import socket
from pathlib import Path

import prepare
import pytest
import torch
import torch.multiprocessing as mp
from torch import Tensor

from parity_tests import recipe_hang
from parity_tests.recipe_hang import HANGS_IN, KNOBS
from parity_tests.recipe_samples import on_cpu
from recipe.checkpoint import CHECKPOINT, load_model
from recipe.optim import Muon
from recipe.train import train

pytestmark = pytest.mark.usefixtures("one_rank")


def same(first: dict[str, Tensor], second: dict[str, Tensor]) -> bool:
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


@pytest.mark.long
def test_whoever_waits_for_a_hung_rank_leaves_the_weights_of_the_last_whole_update(one_rank: Path) -> None:
    """Rank 0, which saves otherwise, is the one that hangs. The weights of no other update are those that are left."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        (one_rank / "port").write_text(str(free.getsockname()[1]), encoding="utf-8")
    with pytest.raises(mp.ProcessRaisedException) as raised:
        mp.start_processes(recipe_hang.run, args=(str(one_rank),), nprocs=2, start_method="spawn")
    said = str(raised.value)
    assert f"update {HANGS_IN} failed on rank 1: out/final.pt has the weights after {HANGS_IN} updates" in said
    assert "imed out" in said
    left = load_model(str(CHECKPOINT), "cpu", on_cpu(world_size=2, **KNOBS)).state_dict()
    updates = [path.stem for path in one_rank.glob("?.pt") if same(torch.load(path, weights_only=True), left)]
    assert updates == [str(HANGS_IN)]
    assert len(list(one_rank.glob("?.pt"))) == HANGS_IN
    meta = torch.load(CHECKPOINT, weights_only=True)["meta"]
    assert meta == {"step": HANGS_IN, "total_train_tokens": HANGS_IN * 2 * 2 * 16, "world_size": 2}
    assert [path.name for path in CHECKPOINT.parent.iterdir()] == ["final.pt"]


def test_where_weights_have_moved_the_last_save_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    step, steps = Muon.step, 0

    def fail(self: Muon) -> None:
        nonlocal steps
        step(self)
        if (steps := steps + 1) > HANGS_IN:
            raise RuntimeError("this device is gone")

    monkeypatch.setattr(Muon, "step", fail)
    with pytest.raises(RuntimeError, match=r"^this device is gone$"):
        train(on_cpu(**KNOBS))
    assert torch.load(CHECKPOINT, weights_only=True)["meta"]["step"] == prepare.TRAIN_STARTUP_STEPS_EXCLUDED - 1 == 4


def test_a_limit_that_no_collective_could_keep_is_refused() -> None:
    with pytest.raises(ValueError, match=r"knob 'stall_seconds' must be above 0, found 0\.0"):
        on_cpu(stall_seconds=0.0)
