"""Muon and AdamW, and who owns what."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from parity_tests.recipe_samples import on_cpu, small
from recipe.adamw import AdamW
from recipe.average import WeightAverage, blend
from recipe.kernels.newton_schulz import (
    QUINTIC,
    QUINTIC_MARGIN,
    TorchNewtonSchulz,
    newton_schulz_reference,
)
from recipe.kernels.weight_average import TorchWeightAverage
from recipe.model import GPT
from recipe.optim import Muon, Nesterov, make_optimizers, set_learning_rate
from recipe.ownership import ADAMW_BY_KERNEL, deal, hand_out, units_of_muon, units_of_shape
from recipe.ranks import Ranks


@pytest.mark.parametrize("shape", [(16, 16), (16, 64), (64, 16)])
def test_newton_schulz_brings_singular_values_near_one(shape: tuple[int, int]) -> None:
    matrices = torch.randn(3, *shape, generator=torch.Generator().manual_seed(0)) * 7.0
    result = newton_schulz_reference(matrices, QUINTIC, QUINTIC_MARGIN, torch.float32)
    assert result.shape == matrices.shape
    assert torch.linalg.svdvals(matrices).max() > 10.0
    values = torch.linalg.svdvals(result)
    assert values.min() > 0.3
    assert values.max() < 1.3
    for matrix, one in zip(matrices, result, strict=True):
        u, _, v = torch.linalg.svd(matrix, full_matrices=False)
        assert torch.cosine_similarity(one.flatten(), (u @ v).flatten(), dim=0) > 0.95


@pytest.mark.parametrize("decay", [0.0, 0.5])
def test_muon_treats_each_matrix_alone_scales_tall_ones_and_decays(decay: float) -> None:
    generator = torch.Generator().manual_seed(0)
    shapes = [(8, 8), (8, 8), (32, 8), (8, 32)]
    parameters = [nn.Parameter(torch.randn(shape, generator=generator)) for shape in shapes]
    before = [p.detach().clone() for p in parameters]
    for parameter in parameters:
        parameter.grad = torch.randn(parameter.shape, generator=generator)
    directions = TorchNewtonSchulz(QUINTIC, QUINTIC_MARGIN, torch.float32)
    mine = {id(p) for p in parameters}
    Muon(parameters, lr=0.1, momentum=0.9, decay=decay, directions=directions, nesterov=Nesterov(), mine=mine).step()
    for parameter, old, factor in zip(parameters, before, (1.0, 1.0, 2.0, 1.0), strict=True):
        assert parameter.grad is not None
        nesterov = parameter.grad.lerp(0.1 * parameter.grad, 0.9)
        expected = (1.0 - 0.1 * decay) * old - 0.1 * factor * directions([nesterov])[0]
        assert torch.allclose(parameter, expected, atol=1e-6)


def test_adamw_is_adamw() -> None:
    generator = torch.Generator().manual_seed(0)
    mine, reference = (nn.Parameter(torch.ones(4, 3)) for _ in range(2))
    optimizer = AdamW([{"params": [mine], "lr": 0.1}], betas=(0.8, 0.95), weight_decay=0.2, mine={id(mine)})
    expected = torch.optim.AdamW([reference], lr=0.1, betas=(0.8, 0.95), weight_decay=0.2, eps=1e-10)
    for _ in range(5):
        mine.grad = torch.randn(4, 3, generator=generator)
        reference.grad = mine.grad.clone()
        optimizer.step()
        expected.step()
    assert torch.allclose(mine, reference, atol=1e-6)
    assert not torch.allclose(mine, torch.ones(4, 3), atol=1e-2)


def test_the_average_weighs_each_update_by_its_age_and_takes_the_weights_place() -> None:
    parameters = [nn.Parameter(torch.zeros(2, 3)), nn.Parameter(torch.zeros(4))]
    average = WeightAverage(parameters, decay=0.5, update=TorchWeightAverage())
    average.put_in_place()
    assert torch.equal(parameters[1], torch.zeros(4))
    for value in (1.0, 2.0, 5.0):
        for parameter in parameters:
            parameter.data.fill_(value)
        average.step()
    average.put_in_place()
    assert torch.allclose(parameters[0], torch.full((2, 3), (0.25 * 1.0 + 0.5 * 2.0 + 1.0 * 5.0) / 1.75))
    assert torch.equal(parameters[0][0, 0], parameters[1][0])


def test_an_average_without_decay_is_uniform_and_may_be_blended_with_the_last_weights() -> None:
    parameter = nn.Parameter(torch.zeros(3))
    average = WeightAverage([parameter], decay=1.0, update=TorchWeightAverage())
    for value in (1.0, 2.0, 6.0):
        parameter.data.fill_(value)
        average.step()
    blend(average, 0.75)
    average.put_in_place()
    assert torch.allclose(parameter, torch.full((3,), 0.75 * 3.0 + 0.25 * 6.0))


@pytest.mark.parametrize("world_size", [1, 2, 4, 8])
@pytest.mark.parametrize("depth", [1, 4])
def test_every_parameter_has_one_owner_and_only_the_owner_updates_it(world_size: int, depth: int) -> None:
    config = on_cpu(depth=depth, world_size=world_size)
    changed: list[set[str]] = []
    for rank in range(world_size):
        torch.manual_seed(0)
        model = GPT(config, torch.float32)
        model.initialize()
        before = {name: p.detach().clone() for name, p in model.named_parameters()}
        for parameter in model.parameters():
            parameter.grad = torch.randn_like(parameter)
        optimizers, owned = make_optimizers(config, model, Ranks(rank, torch.device("cpu")))
        for optimizer in optimizers:
            optimizer.step()
        changed.append({name for name, p in model.named_parameters() if not torch.equal(p, before[name])})
        names = {id(p): name for name, p in model.named_parameters()}
        assert {names[id(p)] for p in owned[rank]} == changed[-1]
    assert set().union(*changed) == set(before)
    assert sum(map(len, changed)) == len(before)
    assert all(changed)


def shaped(*shapes: tuple[int, ...]) -> list[nn.Parameter]:
    return [nn.Parameter(torch.empty(shape, device="meta")) for shape in shapes]


def test_units_go_to_the_rank_that_has_least_and_every_rank_gets_one_of_each_kind() -> None:
    parameters = shaped(*[()] * 7)
    costs = (9, 6, 5, 2, 1, 0, 0)
    a, b, c, d, e, *gains = [(cost, [parameter]) for cost, parameter in zip(costs, parameters, strict=True)]
    hands = hand_out([[a, b, c, d, e]], 2)
    names = {id(parameter): index for index, parameter in enumerate(parameters)}
    assert [[names[id(p)] for p in hand] for hand in hands[0]] == [[0, 3, 4], [1, 2]]
    lone, small = hand_out([[a, b], gains], 2)
    assert [len(hand) for hand in lone] == [len(hand) for hand in small] == [1, 1]
    assert [len(hand) for hand in hand_out([[a, b], gains[:1]], 2)[1]] == [0, 1]


@pytest.mark.parametrize(("world_size", "lnc", "before"), [(4, 2, 1.312), (8, 1, 1.889)])
def test_ranks_have_about_as_much_to_do_where_one_table_is_large(world_size: int, lnc: int, before: float) -> None:
    """The shapes of a deep and narrow model with hashed bigrams. `before`: when parameters were dealt by elements."""
    config = small(world_size=world_size, lnc=lnc, muon="nki", adamw="nki", depth=14)
    matrices = shaped(*([(512, 512)] * 4 + [(2048, 512), (512, 2048)]) * 14)
    tables = shaped((8192, 512), (8192, 512), (2**19, 32), *[(512,)] * 29)
    owned = deal(config, matrices, tables)
    kinds = {id(parameter) for parameter in matrices}
    loads = []
    for hand in owned:
        muon = units_of_shape([parameter for parameter in hand if id(parameter) in kinds], lnc)
        elements = sum(parameter.numel() for parameter in hand if id(parameter) not in kinds)
        loads.append(sum(cost for cost, _ in muon) + ADAMW_BY_KERNEL * elements)
    assert max(loads) / (sum(loads) / world_size) < 1.0 + 0.5 * (before - 1.0)
    assert sorted(id(parameter) for hand in owned for parameter in hand) == sorted(map(id, [*matrices, *tables]))


def test_equal_shapes_stay_together_where_the_kernels_cores_share_them() -> None:
    matrices = shaped((8, 8), (8, 8), (8, 16), (8, 16), (8, 8))
    shared = units_of_muon(small(muon="nki", lnc=2), matrices)
    assert [(cost, len(unit)) for cost, unit in shared] == [(15360, 2), (15360, 1), (25600, 2)]
    alone = units_of_muon(small(muon="torch", lnc=2), matrices)
    assert [(cost, len(unit)) for cost, unit in alone] == [(7680, 1)] * 3 + [(12800, 1)] * 2
    assert units_of_muon(small(muon="nki", lnc=2, world_size=4), matrices) == alone


def test_the_multiplier_scales_every_group_from_its_flat_rate() -> None:
    model = GPT(on_cpu(), torch.float32)
    config = on_cpu(matrix_lr=0.5, embed_lr=0.25, head_lr=0.125, gain_lr=1.0)
    optimizers, _ = make_optimizers(config, model, Ranks(0, torch.device("cpu")))
    for multiplier in (0.5, 0.25, 1.0):
        set_learning_rate(optimizers, multiplier)
        rates = [group["lr"] for optimizer in optimizers for group in optimizer.param_groups]
        assert rates == [multiplier * rate for rate in (0.5, 0.25, 0.125, 1.0)]
