"""A large table of which an update reads few rows, and the optimizer that visits those rows alone.

A dense gradient of such a table is nearly all zeros; to fill it, to reduce it over ranks and to step through it costs
more than the rest of a small update. Here the backward pass adds the gradients of what was read to a tensor that is
zero elsewhere, and notes the rows; the step reads, uses and clears these rows. All shapes are those of the batch.

The step is row-wise Adagrad (Duchi et al., 2011; with one sum of squares per row, as for the tables of recommendation
models: Naumov et al., "DLRM", 2019): row <- row - lr g / sqrt(s), where s is the sum over all updates so far of the
mean square of the row's gradient g. A row without a gradient does not move, so to leave it out is exact; momenta would
go on moving it while they decay.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.utils import clip_grads_with_norm_, get_total_norm
from torch_neuronx import wrap_nki

from recipe.config import Config
from recipe.gradients import gradient_of
from recipe.kernels.embedding import embedding_gather, embedding_scatter_add

EPS = 1e-20  # added to a sum of squares, because a row may be noted that has no gradient


class RowTable(nn.Module):
    """The table [rows, width]. It starts at zero, so a row that training never read says nothing."""

    gradient: Tensor  # [rows, width] fp32: of the rows read since the last step; zero elsewhere
    noted: Tensor  # int32: these rows, and before them older ones or zeros

    def __init__(self, config: Config, rows: int, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(rows, width))
        self.register_buffer("gradient", torch.zeros(rows, width), persistent=False)
        reads = config.micro_batches * config.batch_size * config.seq_len
        self.register_buffer("noted", torch.zeros(reads, dtype=torch.int32), persistent=False)

    def forward(self, rows: Tensor) -> Tensor:
        """Rows' numbers [B, T] int32 -> rows [B, T, width] fp32."""
        read: Tensor = Read.apply(rows, self.weight, self.gradient, self.noted)  # type: ignore[no-untyped-call]
        return read


class NkiRowTable(RowTable):
    """The same by the kernels of the embedding."""

    def __init__(self, config: Config, rows: int, width: int, dtype: torch.dtype) -> None:
        """`dtype`: of the rows as they are read, fp32 or bf16."""
        super().__init__(config, rows, width)
        self.dtype = dtype
        self.lnc = config.lnc

    def forward(self, rows: Tensor) -> Tensor:
        """Rows' numbers [B, T] int32 -> rows [B, T, width]."""
        read: Tensor = NkiRead.apply(rows, self.weight, self.gradient, self.noted, self.dtype, self.lnc)  # type: ignore[no-untyped-call]
        return read


class Read(torch.autograd.Function):
    """Rows of the table; their gradients go to the tensor beside it."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, weight: Tensor, gradient: Tensor, noted: Tensor) -> Tensor:
        """Read."""
        ctx.save_for_backward(rows)
        ctx.gradient, ctx.noted = gradient, noted
        return weight[rows.long()]

    @staticmethod
    def backward(ctx: Any, dread: Tensor) -> tuple[None, None, None, None]:
        """Add what came back to the rows it belongs to."""
        rows = ctx.saved_tensors[0].reshape(-1)
        note(rows, ctx.noted)
        ctx.gradient.index_add_(0, rows.long(), dread.reshape(rows.size(0), -1))
        return None, None, None, None


class NkiRead(torch.autograd.Function):
    """The same by kernels."""

    @staticmethod
    def forward(
        ctx: Any, rows: Tensor, weight: Tensor, gradient: Tensor, noted: Tensor, dtype: torch.dtype, lnc: int
    ) -> Tensor:
        """Read."""
        chosen = rows.reshape(-1, 1)
        ctx.save_for_backward(chosen)
        ctx.gradient, ctx.noted, ctx.lnc = gradient, noted, lnc
        read = wrap_nki(embedding_gather)[lnc](tokens=chosen, table=weight, low=dtype == torch.bfloat16)
        out: Tensor = read.view(*rows.shape, weight.size(1))
        return out

    @staticmethod
    def backward(ctx: Any, dread: Tensor) -> tuple[None, None, None, None, None, None]:
        """Add what came back to the rows it belongs to, in place."""
        (chosen,) = ctx.saved_tensors
        note(chosen.reshape(-1), ctx.noted)
        wrap_nki(embedding_scatter_add)[ctx.lnc](
            drows=dread.reshape(chosen.size(0), -1).contiguous(), tokens=chosen, dtable=ctx.gradient
        )
        return None, None, None, None, None, None


def note(rows: Tensor, noted: Tensor) -> None:
    """Put rows' numbers [N] behind those of earlier micro-batches, in place; the oldest make way."""
    noted.copy_(torch.cat([noted[rows.size(0) :], rows]))


class RowAdagrad(torch.optim.Optimizer):
    """Row-wise Adagrad over the rows that were read since the last step. `collect` comes before each `step`."""

    rows: Tensor  # [N]: numbers of the rows that the next step updates; one that was read twice stands there twice
    gradient: Tensor  # [N, width]: theirs, which is the row's whole gradient in each place

    def __init__(self, table: RowTable, lr: float) -> None:
        super().__init__([table.weight], {"lr": lr})
        self.table = table
        self.squares = torch.zeros_like(table.weight[:, 0])

    @torch.no_grad()
    def collect(self) -> None:
        """Take the gradient out of the table, over all ranks."""
        self.rows, self.gradient = self.visited()
        self.table.gradient[self.rows] = 0.0

    def norm(self) -> Tensor:
        """The norm of what was collected; a row counts once, however often it stands there."""
        times = torch.zeros_like(self.squares).index_add_(0, self.rows, torch.ones_like(self.gradient[:, 0]))
        return (self.gradient.square().sum(1) / times[self.rows]).sum().sqrt()

    @torch.no_grad()
    def step(self) -> None:  # type: ignore[override]
        """Update these rows."""
        rows, gradient = self.rows, self.gradient
        squares = self.squares[rows] + gradient.square().mean(1)
        self.squares[rows] = squares
        (group,) = self.param_groups
        weight = self.table.weight
        weight[rows] = weight[rows] - group["lr"] * gradient * (squares + EPS).rsqrt().unsqueeze(1)

    def visited(self) -> tuple[Tensor, Tensor]:
        """The rows' numbers [N], and their gradients [N, width]."""
        rows = self.table.noted.long()
        return rows, self.table.gradient[rows]


class SharedRowAdagrad(RowAdagrad):
    """The same step on every rank, over the rows that any of them read."""

    def __init__(self, table: RowTable, lr: float, world_size: int) -> None:
        super().__init__(table, lr)
        self.world_size = world_size

    def visited(self) -> tuple[Tensor, Tensor]:
        """The rows' numbers [world_size * N], and the means over ranks of their gradients."""
        parts = [torch.empty_like(self.table.noted) for _ in range(self.world_size)]
        dist.all_gather(parts, self.table.noted)
        rows = torch.cat(parts).long()
        gradient = self.table.gradient[rows]
        dist.all_reduce(gradient)
        return rows, gradient / self.world_size


def make_row_table(config: Config, rows: int, width: int, dtype: torch.dtype) -> RowTable:
    """The table whose operations the configuration names; `dtype`: of the activations."""
    if config.embedding == "nki":
        return NkiRowTable(config, rows, width, dtype)
    return RowTable(config, rows, width)


def make_row_optimizer(config: Config, table: RowTable, lr: float) -> RowAdagrad:
    """The optimizer of a table."""
    if config.world_size > 1:
        return SharedRowAdagrad(table, lr, config.world_size)
    return RowAdagrad(table, lr)


def row_optimizer(optimizers: Sequence[torch.optim.Optimizer]) -> RowAdagrad:
    """The one among a run's optimizers that updates a table, its last."""
    last = optimizers[-1]
    assert isinstance(last, RowAdagrad)
    return last


def clip_with_rows(config: Config, parameters: Sequence[nn.Parameter], pairs: RowAdagrad) -> None:
    """Scale all gradients, the collected ones of a table among them, so that their norm together is within limits."""
    most = config.clip
    others: Any = get_total_norm([gradient_of(parameter) for parameter in parameters])
    if config.sharding == "fsdp":
        others = others.full_tensor()
    norm = torch.stack([others, pairs.norm()]).norm()
    clip_grads_with_norm_(parameters, most, norm)
    pairs.gradient *= (most / (norm + 1e-6)).clamp(max=1.0)  # as torch does for the others


def dense_parameters(model: nn.Module) -> list[nn.Parameter]:
    """The parameters of a model that have a gradient of their own shape: all but these tables."""
    others = {id(table.weight) for table in row_tables(model)}
    return [parameter for parameter in model.parameters() if id(parameter) not in others]


def row_tables(model: nn.Module) -> list[RowTable]:
    """All such tables within a model."""
    return [module for module in model.modules() if isinstance(module, RowTable)]
