"""Collectives while the ranks compute: gradients are averaged during backward, parameters sent during the next step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from recipe.config import Config
from recipe.gradients import joined, joined_in_fp32
from recipe.ranks import Ranks, scatter

BUCKETS = 8  # all-reduces of an update: the last one, which backward no longer hides, is an eighth of all


class OverlappedGradients:
    """Replaces gradients by their mean over ranks, bucket by bucket, each as soon as backward has made its last one.

    Parameters are in buckets in the order in which backward comes to them, the last layer first. Buckets leave in this
    order on every rank, whatever order gradients come in, so that sums are the same in every run.
    """

    def __init__(
        self, parameters: Sequence[nn.Parameter], world_size: int, flatten: Callable[[Sequence[Tensor]], Tensor]
    ) -> None:
        """`flatten`: what makes one tensor of a bucket's gradients."""
        self.world_size = world_size
        self.flatten = flatten
        self.buckets: list[list[nn.Parameter]] = [[]]
        self.bucket_of: dict[int, int] = {}
        most = sum(parameter.numel() for parameter in parameters) / BUCKETS
        elements = 0
        for parameter in reversed(parameters):
            if elements >= most:
                self.buckets.append([])
                elements = 0
            self.bucket_of[id(parameter)] = len(self.buckets) - 1
            self.buckets[-1].append(parameter)
            elements += parameter.numel()
            parameter.register_post_accumulate_grad_hook(self.arrived)  # type: ignore[no-untyped-call]
        self.begun: list[tuple[list[Tensor], Tensor, Any]] = []
        self.expected: list[int] = []

    def expect(self, micro_batches: int) -> None:
        """Wait for the gradients of a new update, of so many backward passes; every parameter takes part in each."""
        self.expected = [len(bucket) * micro_batches for bucket in self.buckets]
        self.begun = []

    def arrived(self, parameter: Tensor) -> None:
        """A backward pass has added to this parameter's gradient."""
        bucket = self.bucket_of[id(parameter)]
        if bucket < len(self.begun):
            raise RuntimeError("one backward pass more than expected: this gradient is already on its way")
        self.expected[bucket] -= 1
        while len(self.begun) < len(self.buckets) and self.expected[len(self.begun)] == 0:
            self.begin()

    def begin(self) -> None:
        """Begin to sum the next bucket over ranks."""
        bucket = self.buckets[len(self.begun)]
        gradients = [parameter.grad for parameter in bucket if parameter.grad is not None]
        if len(gradients) != len(bucket):
            raise RuntimeError("a parameter has no gradient: every parameter must take part in the loss on every rank")
        flat = self.flatten(gradients)
        self.begun.append((gradients, flat, dist.all_reduce(flat, async_op=True)))

    def finish(self) -> None:
        """Wait for the sums, behind the last backward pass; every gradient is the mean then."""
        while len(self.begun) < len(self.buckets):
            self.begin()
        for gradients, flat, work in self.begun:
            work.wait()
            flat /= self.world_size
            scatter(flat, gradients)


class OverlappedSharing:
    """Sends each owner's updated parameters to all ranks: those of one optimizer while the next one steps."""

    def __init__(
        self, ranks: Ranks, optimizers: Sequence[torch.optim.Optimizer], owned: Sequence[Sequence[nn.Parameter]]
    ) -> None:
        """`owned[r]` are those of rank r. A parcel is what an optimizer updates on one rank, of one dtype."""
        self.rank = ranks.rank
        self.parcels: dict[int, list[tuple[int, list[nn.Parameter]]]] = {}
        for optimizer in optimizers:
            held = {id(parameter) for group in optimizer.param_groups for parameter in group["params"]}
            parcels: dict[tuple[int, torch.dtype], list[nn.Parameter]] = {}
            for owner, parameters in enumerate(owned):
                for parameter in parameters:
                    if id(parameter) in held:
                        parcels.setdefault((owner, parameter.dtype), []).append(parameter)
            self.parcels[id(optimizer)] = [(owner, parcel) for (owner, _), parcel in parcels.items()]
        self.begun: list[tuple[int, list[nn.Parameter], Tensor, Any]] = []

    @torch.no_grad()
    def begin(self, optimizer: torch.optim.Optimizer) -> None:
        """Begin to send what `optimizer` has just updated."""
        for owner, parameters in self.parcels[id(optimizer)]:
            flat = torch.cat([parameter.reshape(-1) for parameter in parameters])
            self.begun.append((owner, parameters, flat, dist.broadcast(flat, src=owner, async_op=True)))

    @torch.no_grad()
    def finish(self) -> None:
        """Wait until all parameters are those of their owners."""
        for owner, parameters, flat, work in self.begun:
            work.wait()
            if owner != self.rank:
                scatter(flat, parameters)
        self.begun = []


def make_overlapped_gradients(config: Config, parameters: Sequence[nn.Parameter]) -> OverlappedGradients:
    """The averaging of gradients during backward, for the dtypes of the configuration."""
    if config.rounds_parameters:
        return OverlappedGradients(parameters, config.world_size, joined_in_fp32)
    return OverlappedGradients(parameters, config.world_size, joined)
