"""Parameters, gradients and state in shards, one on each rank, by torch's FSDP2 (Zhao et al., arXiv:2304.11277).

For models that one device cannot hold beside gradients and state. A block's parameters are whole only while it
computes; torch gathers them ahead of that and averages gradients behind it, while other blocks compute.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor

from recipe.adamw import make_adamw
from recipe.config import Config
from recipe.kernels.newton_schulz import NkiNewtonSchulz, TorchNewtonSchulz
from recipe.model import GPT, activation_dtype, make_model
from recipe.optim import (
    Muon,
    Nesterov,
    RoundedNesterov,
    groups_of_adamw,
    make_directions,
    make_nesterov,
    with_rows,
)
from recipe.ownership import deal
from recipe.ranks import Ranks
from recipe.row_table import row_tables


def shard(config: Config, ranks: Ranks, model: GPT) -> None:
    """Leave this rank its shard of each parameter: rows, as even as they come out. A table of pairs stays whole."""
    mesh = init_device_mesh(ranks.device.type, (config.world_size,))
    block: Any
    for block in model.blocks:
        if config.skips or config.residual_mix:
            for recall in block.recalls:  # which the stack calls itself, in front of the block
                fully_shard(recall, mesh=mesh)
        fully_shard(block, mesh=mesh)
    if config.bigram_rows > 0:
        fully_shard(model, mesh=mesh, ignored_params={table.weight for table in row_tables(model)})
    else:
        fully_shard(model, mesh=mesh)


def local_shards(parameters: Sequence[nn.Parameter]) -> list[Tensor]:
    """This rank's part of each parameter, in the parameter's own memory."""
    return [parameter.to_local() for parameter in parameters if isinstance(parameter, DTensor)]


def make_sharded_optimizers(config: Config, model: GPT, ranks: Ranks) -> list[torch.optim.Optimizer]:
    """The optimizers of a sharded model, of which each rank updates its shards; all update a table of pairs."""
    matrices, groups = model.matrices(), groups_of_adamw(config, model)
    muon = ShardedMuon(
        matrices,
        lr=config.matrix_lr,
        momentum=config.matrix_momentum,
        decay=config.matrix_decay,
        directions=make_directions(config, activation_dtype(config, ranks.device)),
        nesterov=make_nesterov(config),
        hands=deal(config, matrices, []),
        rank=ranks.rank,
    )
    adamw = make_adamw(config, groups, {id(parameter) for group in groups for parameter in group["params"]})
    return with_rows(config, model, [muon, adamw])


class ShardedMuon(Muon):
    """Muon over shards. A direction depends on the whole matrix: each is found by one rank, for all of them."""

    def __init__(
        self,
        params: list[nn.Parameter],
        lr: float,
        momentum: float,
        decay: float,
        directions: NkiNewtonSchulz | TorchNewtonSchulz,
        nesterov: Nesterov | RoundedNesterov,
        hands: Sequence[Sequence[nn.Parameter]],
        rank: int,
    ) -> None:
        """`hands[r]`: the matrices whose directions rank r finds; `rank`: this one."""
        super().__init__(
            params, lr, momentum, decay, directions, nesterov, {id(parameter) for parameter in hands[rank]}
        )
        self.finder = {id(parameter): finder for finder, hand in enumerate(hands) for parameter in hand}

    @torch.no_grad()
    def step(self) -> None:  # type: ignore[override]
        """Update this rank's shards."""
        for group in self.param_groups:
            whole = {}
            for parameter in group["params"]:  # every rank takes part in gathering every matrix
                matrix = self.followed(parameter, group["momentum"]).full_tensor()  # type: ignore[attr-defined]
                if id(parameter) in self.mine:
                    whole[id(parameter)] = matrix
            found = dict(zip(whole, self.directions(list(whole.values())), strict=True))
            for parameter in group["params"]:
                empty = torch.empty(parameter.shape, device=parameter.device)
                direction = distribute_tensor(
                    found.get(id(parameter), empty),
                    parameter.device_mesh,
                    parameter.placements,
                    src_data_rank=self.finder[id(parameter)],
                )
                self.advance(parameter, direction, group)


@torch.no_grad()
def consolidated(config: Config, ranks: Ranks, model: GPT) -> GPT:
    """The whole model, on every rank, without shards: for the checkpoint, or to evaluate. Every rank calls this."""
    whole = make_model(config, activation_dtype(config, ranks.device))
    state: dict[str, Tensor] = {}
    for name, tensor in model.state_dict().items():
        full = tensor.full_tensor() if isinstance(tensor, DTensor) else tensor
        state[name] = full.cpu()
    whole.load_state_dict(state, strict=True)
    return whole.to(ranks.device)
