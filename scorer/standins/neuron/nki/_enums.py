"""Enumerations of nki.isa."""

from __future__ import annotations

from enum import Enum, IntEnum
from typing import Any

from ._errors import refuse


class engine(Enum):  # noqa: N801 (NKI's spelling)
    """Which engine runs an instruction; `unknown` leaves the choice to the compiler."""

    unknown = 0
    tensor = 1
    scalar = 2
    gpsimd = 3
    dma = 4
    vector = 5
    sync = 6


class reduce_cmd(Enum):  # noqa: N801
    """What an instruction does with its engine's accumulator registers."""

    idle = 0
    reset = 1
    reduce = 2
    reset_reduce = 3
    load_reduce = 4


class dge_mode(Enum):  # noqa: N801
    """How DMA descriptors are made."""

    unknown = 0
    swdge = 1
    hwdge = 2
    none = 3


class oob_mode(Enum):  # noqa: N801
    """What an indirect DMA does with an index out of range."""

    error = 0
    skip = 1


class matmul_perf_mode(Enum):  # noqa: N801
    """Speed modes of nc_matmul."""

    none = 0
    double_row = 1


class dma_engine(Enum):  # noqa: N801
    """Who moves the data of sendrecv."""

    dma = 0
    gpsimd_dma = 1


class nc_version(IntEnum):  # noqa: N801
    """NeuronCore generations, in order; gen3 is Trn2."""

    gen2 = 2
    gen3 = 3
    gen4 = 4


def choose(value: Any, allowed: tuple[engine, ...]) -> engine:
    """Checks an `engine=` argument."""
    if value is not engine.unknown and value not in allowed:
        names = ", ".join(f"nki.isa.engine.{item.name}" for item in allowed)
        refuse(f"{value!r} cannot run this instruction; expected {names} or unknown", "engine")
    chosen: engine = value
    return chosen
