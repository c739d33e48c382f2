"""nki.collectives: operations between cores of different devices. NKI's own simulator has none of them either.

The names exist, so that a kernel that only mentions them can be imported; calling one is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

from ._errors import refuse


@dataclass
class ReplicaGroup:
    """Groups of ranks that take part, as lists without overlap."""

    groups: list[list[int]]


def _not_simulated() -> NoReturn:
    refuse(
        "collectives are not simulated: run the kernel on devices, or exchange results between kernels with "
        "torch.distributed"
    )


def all_reduce(*_: Any, **__: Any) -> NoReturn:
    """Not simulated."""
    _not_simulated()


def all_gather(*_: Any, **__: Any) -> NoReturn:
    """Not simulated."""
    _not_simulated()


def reduce_scatter(*_: Any, **__: Any) -> NoReturn:
    """Not simulated."""
    _not_simulated()


def all_to_all(*_: Any, **__: Any) -> NoReturn:
    """Not simulated."""
    _not_simulated()


def all_gather_v(*_: Any, **__: Any) -> NoReturn:
    """Not simulated."""
    _not_simulated()


def all_to_all_v(*_: Any, **__: Any) -> NoReturn:
    """Not simulated."""
    _not_simulated()


def collective_permute(*_: Any, **__: Any) -> NoReturn:
    """Not simulated."""
    _not_simulated()


def collective_permute_implicit(*_: Any, **__: Any) -> NoReturn:
    """Not simulated."""
    _not_simulated()


def collective_permute_implicit_reduce(*_: Any, **__: Any) -> NoReturn:
    """Not simulated."""
    _not_simulated()


def collective_permute_implicit_current_processing_rank_id(*_: Any, **__: Any) -> NoReturn:
    """Not simulated."""
    _not_simulated()


def rank_id(*_: Any, **__: Any) -> NoReturn:
    """Not simulated."""
    _not_simulated()
