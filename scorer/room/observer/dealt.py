"""Batches dealt as to another number of ranks: this rank reads what several ranks of a larger run would read.

A kit gives each rank row groups and packing of its own, so runs of different world sizes never see the same rows. To
compare them, each rank of the smaller run is given the batches of `of / WORLD_SIZE` ranks of the larger one, in turns:
with as many times the micro-batches, an update is made from the same rows.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


def loader(make: Callable[..., Any], of: int) -> Callable[..., Iterator[Any]]:
    """The kit's loader, made once for each rank that this one stands for. It asks its rank of the environment."""
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    share = of // world
    ranks = range(rank * share, (rank + 1) * share)

    def deal(*args: Any, **kwargs: Any) -> Iterator[Any]:
        loaders = []
        for each in ranks:
            with _as_rank(each, of):
                loaders.append(iter(make(*args, **kwargs)))
        while True:
            for each, batches in zip(ranks, loaders, strict=True):
                with _as_rank(each, of):
                    batch = next(batches)
                yield batch

    return deal


@contextmanager
def _as_rank(rank: int, world: int) -> Iterator[None]:
    own = {name: os.environ[name] for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE")}
    os.environ.update({"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(world)})
    try:
        yield
    finally:
        os.environ.update(own)
