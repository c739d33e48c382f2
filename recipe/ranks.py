"""The ranks of one run: device, process group, averaged gradients, shared parameters, agreed decisions."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import NamedTuple

import prepare
import torch
import torch.distributed as dist
from torch import Tensor, nn

from recipe.config import Config


class Ranks(NamedTuple):
    """Where this process stands among the others, and the device it computes on."""

    rank: int
    device: torch.device


def register_device(config: Config) -> None:
    """Make torch know the device that the configuration names."""
    if config.device == "neuron":
        import torch_neuronx  # noqa: F401  (importing it registers device, process group and compile backend "neuron")


def join(config: Config) -> Ranks:
    """Join the process group and open the device. A collective in which a rank is waited for too long raises.

    Raises RuntimeError when torchrun started another number of ranks than the configuration says.
    """
    register_device(config)
    _, rank, local_rank, world_size = prepare.get_dist_info()
    if world_size != config.world_size:
        raise RuntimeError(
            f"launched with {world_size} ranks, configured for {config.world_size}: "
            f"launch with --nproc_per_node={config.world_size}"
        )
    if config.world_size > 1:
        dist.init_process_group(
            "neuron" if config.device == "neuron" else "nccl" if config.device == "cuda" else "gloo",
            timeout=timedelta(seconds=config.stall_seconds),
        )
    if config.device == "neuron":
        torch.neuron.set_device(local_rank)  # type: ignore[attr-defined]  # from here on "neuron" is this rank's core
    if config.device == "cuda":
        torch.cuda.set_device(local_rank)
    return Ranks(rank, torch.device(config.device))


def leave() -> None:
    """Leave the process group, once every rank has come this far."""
    dist.barrier()
    dist.destroy_process_group()


def synchronize(config: Config) -> None:
    """Wait until the device has done all that was asked of it, so that the clock can be read."""
    if config.device == "neuron":
        torch.neuron.synchronize()  # type: ignore[attr-defined]  # torch_neuronx adds it
    if config.device == "cuda":
        torch.cuda.synchronize()


def agree(ranks: Ranks, decision: tuple[float, float]) -> tuple[float, float]:
    """Rank 0's decision, on every rank, rounded to fp32. Clocks differ; what follows from them must not."""
    message = torch.tensor(decision, dtype=torch.float32, device=ranks.device)
    dist.broadcast(message, src=0)
    first, second = message.tolist()
    return first, second


@torch.no_grad()
def share_parameters(config: Config, ranks: Ranks, owned: Sequence[Sequence[nn.Parameter]]) -> None:
    """Send each owner's updated parameters to all ranks. `owned[r]` are those of rank r.

    One broadcast per owner, or one for each dtype of its parameters, each as wide as its parameters are.
    """
    for owner, parameters in enumerate(owned):
        if config.rounds_parameters:
            for dtype in (torch.bfloat16, torch.float32):
                _broadcast(ranks, owner, [parameter for parameter in parameters if parameter.dtype == dtype])
        else:
            _broadcast(ranks, owner, parameters)


def _broadcast(ranks: Ranks, owner: int, parameters: Sequence[nn.Parameter]) -> None:
    if not parameters:
        return
    flat = torch.cat([parameter.reshape(-1) for parameter in parameters])
    dist.broadcast(flat, src=owner)
    if owner != ranks.rank:
        scatter(flat, parameters)


def scatter(flat: Tensor, tensors: Sequence[Tensor]) -> None:
    """Fill tensors, in their order, from the elements of `flat`."""
    start = 0
    for tensor in tensors:
        tensor.copy_(flat[start : start + tensor.numel()].view_as(tensor))
        start += tensor.numel()
