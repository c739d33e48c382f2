"""The compiled recipe beside what acts on its weights and buffers from outside the graph: the same updates as eager."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import Tensor

from parity_tests.recipe_samples import small
from recipe.model import make_model
from recipe.overlap import make_overlapped_gradients
from recipe.train import train

SIZES: dict[str, Any] = {
    "depth": 1, "width": 32, "mlp_width": 64, "batch_size": 2, "seq_len": 32, "num_steps": 2,
    "norm": "torch", "rotary": "torch", "mlp": "torch", "loss": "torch",
}  # fmt: skip
NGRAMS = {"ngram_slots": 64, "ngram_refresh": 1, "ngram_orders": "2,3"}
PAIRS = {"bigram_rows": 97, "bigram_width": 8}


pytestmark = pytest.mark.usefixtures("one_rank")


@pytest.fixture(autouse=True)
def fresh() -> None:
    """No graphs."""
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()


@pytest.fixture
def group(tmp_path: Path) -> Iterator[None]:
    """A process group of this process alone."""
    dist.init_process_group("gloo", f"file://{tmp_path}/meet", rank=0, world_size=1)
    yield
    dist.destroy_process_group()


def weights(**knobs: Any) -> dict[str, Tensor]:
    return {name: tensor.cpu() for name, tensor in train(small(**(SIZES | knobs))).state_dict().items()}


@pytest.mark.parametrize(
    "knobs",
    [
        {"ngram": "torch", "experts": 3, "expert_width": 16} | NGRAMS | PAIRS,
        {"ngram": "nki", "embedding": "nki", "matrix_dtype": "bfloat16", "table_dtype": "bfloat16"} | NGRAMS | PAIRS,
    ],
    ids=["torch", "kernels"],
)
def test_one_graph_counts_reads_and_drops_as_the_single_operations_do(knobs: dict[str, Any]) -> None:
    """N-grams change buffers between updates, pairs note rows in the backward pass, experts hand a sum around."""
    expected, found, other = weights(**knobs), weights(**knobs, compile=True), weights(**knobs, seed=1)
    assert all(torch.equal(found[name], expected[name]) for name in expected)
    assert not torch.equal(other["embed.pair.weight"], expected["embed.pair.weight"])
    counted = torch._dynamo.utils.counters
    assert counted["stats"]["unique_graphs"] == 1
    assert not counted["graph_break"]
    assert not counted["recompiles"]


@pytest.mark.usefixtures("group")
def test_gradients_leave_while_a_compiled_backward_pass_makes_them() -> None:
    """A group of one rank: the mean is the gradient, and every bucket has left when the last pass ends."""
    config = small(**SIZES, device="cpu", compile=True)
    gradients: list[list[Tensor | None]] = []
    for compiled in (False, True):
        torch.manual_seed(0)
        model = make_model(config, torch.float32)
        model.initialize()
        if compiled:
            model.compile(backend="aot_eager", fullgraph=True, dynamic=False)
        parameters = list(model.parameters())
        reduction = make_overlapped_gradients(config, parameters)
        tokens = torch.arange(64).view(2, 32)
        reduction.expect(2)
        for _ in range(2):
            model(tokens.int(), tokens).backward()
        assert len(reduction.begun) == len(reduction.buckets) > 1
        reduction.finish()
        gradients.append([parameter.grad for parameter in parameters])
    for expected, found in zip(*gradients, strict=True):
        assert expected is not None
        assert found is not None
        assert torch.allclose(found, expected, atol=1e-6)
    assert any(each is not None and each.any() for each in gradients[0])
