"""Data parallel: ranks end each update with the same weights, and those of one rank that saw the whole batch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import torch.multiprocessing as mp

from parity_tests import recipe_ranks
from parity_tests.recipe_samples import on_cpu
from recipe.gradients import average_gradients
from recipe.ranks import join


def results(world_size: int, directory: Path) -> list[dict[str, Any]]:
    mp.start_processes(recipe_ranks.run, args=(world_size, str(directory)), nprocs=world_size, start_method="spawn")
    return [torch.load(directory / f"{world_size}-{rank}.pt", weights_only=True) for rank in range(world_size)]


def test_two_ranks_agree_with_each_other_and_with_one(tmp_path: Path) -> None:
    threads = torch.get_num_threads()
    recipe_ranks.run(0, 1, str(tmp_path))
    torch.set_num_threads(threads)  # ranks compute on one thread; later tests do not
    single = torch.load(tmp_path / "1-0.pt", weights_only=True)
    first, second = results(2, tmp_path)
    for name, expected in single["plain"].items():
        assert torch.equal(first["plain"][name], second["plain"][name]), name
        assert torch.allclose(first["plain"][name], expected, atol=2e-5), name
        for variant in ("plain, overlapped", "bf16", "bf16, overlapped"):
            assert torch.equal(first[variant][name], second[variant][name]), (variant, name)
        for variant in ("plain", "bf16"):
            assert torch.equal(first[variant][name], first[f"{variant}, overlapped"][name]), (variant, name)
    # What is rounded to bf16 may come out as its neighbour.
    for plain, variant, atol in (("plain", "sharded", 2e-5), ("state in bf16", "sharded, state in bf16", 5e-4)):
        for name, expected in single[plain].items():
            assert torch.equal(first[variant][name], second[variant][name]), (variant, name)
            assert torch.allclose(first[variant][name], expected, atol=atol), (variant, name)
    plain, rounded = single["plain"]["embed.token.weight"], single["state in bf16"]["embed.token.weight"]
    assert not torch.allclose(plain, rounded, atol=5e-4)
    assert not torch.equal(first["plain"]["head.weight"], first["bf16"]["head.weight"])
    for name, expected in single["ngrams"].items():  # whole numbers, and what is computed of them
        assert torch.equal(first["ngrams"][name], second["ngrams"][name]), name
        assert torch.equal(first["ngrams"][name], expected), name
    assert single["ngrams"]["mix.probability"].count_nonzero() > 100
    assert first["agreed"] == second["agreed"] == [(float(update), 0.0) for update in range(recipe_ranks.UPDATES)]


def test_another_number_of_ranks_than_configured_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "4"}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(RuntimeError, match="launched with 4 ranks, configured for 1: launch with --nproc_per_node=1"):
        join(on_cpu())


def test_a_parameter_without_gradient_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="a parameter has no gradient"):
        average_gradients(on_cpu(world_size=2), [torch.nn.Parameter(torch.zeros(1))])
