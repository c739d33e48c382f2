"""What the two cores of LNC 2 do together: wait for each other, exchange tiles."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._core import Core, current
from ._enums import choose, dma_engine, engine
from ._errors import kernel_line, refuse
from ._indirect import IndirectTensor
from ._operands import Instruction, note_moved, refuse_repeats
from ._pair import Meeting, Pair
from ._storage import Buffer
from ._tensor import NkiTensor

_GPSIMD_BYTES = {4: 1024, 2: 512, 1: 256}
_BARRIER_ENGINES = tuple(engine)


def core_barrier(data: Any, cores: Any, engine: Any = engine.gpsimd, name: str | None = None) -> Instruction:
    """Both cores go on when both are here; what either wrote to `data` before, both may read and overwrite then.

    `data` is the tensor in `nl.shared_hbm` that they share, the same on both, `cores` is (0, 1). Other tensors need a
    barrier of their own: an instruction waits for those that touch its operands, so nothing says that a DMA to another
    tensor has ended. A launch on one core does not wait, and `cores` is 0 or (0,). Source: nki.isa.core_barrier.
    """
    core = current()
    choose(engine, _BARRIER_ENGINES)
    if not isinstance(data, NkiTensor) or data._storage.buffer is not Buffer.shared_hbm:
        refuse(f"{data!r}; a barrier guards a tensor in nl.shared_hbm", "data")
    wanted = tuple(range(core.launch.cores))
    if ((cores,) if isinstance(cores, int) else tuple(cores)) != wanted:
        refuse(f"{cores}; the cores of this launch are {wanted}", "cores")
    if core.launch.cores == 1:
        return Instruction()
    storage = data._storage
    meeting = Meeting("core_barrier", f"data={storage.name or storage.array.shape}", storage, *kernel_line())
    _pair(core).meet(core.index, meeting, _pass_barrier)
    return Instruction()


def sendrecv(
    src: Any,
    dst: Any,
    send_to_rank: int,
    recv_from_rank: int,
    pipe_id: int,
    dma_engine: Any = dma_engine.dma,
    name: str | None = None,
) -> Instruction:
    """Sends the SBUF tile `src` to the other core and receives its tile into `dst`; all four have one shape and type.

    `gpsimd_dma` moves at most 1024 bytes per partition of 4-byte types, 512 of 2-byte and 256 of 1-byte types. Waits
    for the other core's sendrecv of the same `pipe_id`, but not for what it did to HBM. Source: nki.isa.sendrecv.
    """
    core = current()
    if core.launch.cores == 1:
        refuse("needs two cores; launch the kernel on LNC 2: kernel[2]")
    other = 1 - core.index
    for operand, rank in (("send_to_rank", send_to_rank), ("recv_from_rank", recv_from_rank)):
        if rank != other:
            refuse(f"{rank!r}; core {core.index} exchanges with core {other}", operand)
    if not isinstance(pipe_id, int):
        refuse(f"{pipe_id!r}; expected an int", "pipe_id")
    sent, received = _tile(src, "src"), _tile(dst, "dst")
    if received._repeats:
        refuse_repeats(received)
    if (sent.shape, sent.dtype) != (received.shape, received.dtype):
        refuse(f"{received.dtype} {received.shape}, src has {sent.dtype} {sent.shape}", "dst")
    if sent._storage is received._storage and np.shares_memory(sent._array, received._array):
        refuse("overlaps src, which may be overwritten before it is sent", "dst")
    _check_engine(dma_engine, sent)
    meeting = Meeting("sendrecv", f"pipe_id={pipe_id}", (sent, received), *kernel_line())
    _pair(core).meet(core.index, meeting, _exchange)
    return Instruction()


def _pass_barrier(mine: Meeting, theirs: Meeting) -> None:
    if mine.brings is not theirs.brings:
        refuse(f"another tensor than at {theirs}; both cores wait for the same", "data")
    mine.brings.pass_barrier()


def _exchange(mine: Meeting, theirs: Meeting) -> None:
    sent, _ = mine.brings
    their_sent, _ = theirs.brings
    if (sent.shape, sent.dtype) != (their_sent.shape, their_sent.dtype):
        refuse(
            f"{sent.dtype} {sent.shape}, the other core sends {their_sent.dtype} {their_sent.shape} at {theirs}", "src"
        )
    exchange(mine.brings, theirs.brings)


def exchange(mine: tuple[NkiTensor, NkiTensor], theirs: tuple[NkiTensor, NkiTensor]) -> None:
    """Moves what each core sends to where the other one receives; a side is (sent, received)."""
    for (sent, _), (_, received) in ((mine, theirs), (theirs, mine)):
        received._array[...] = sent._array
        note_moved(received, sent._storage.note_move(sent, "src") if sent._storage.watched else None)


def _pair(core: Core) -> Pair:
    pair = core.launch.pair
    assert pair is not None  # there are two cores
    return pair


def _tile(value: Any, operand: str) -> NkiTensor:
    if isinstance(value, IndirectTensor):
        return value.now(operand)
    if not isinstance(value, NkiTensor):
        refuse(f"expected a tensor, found {value!r}", operand)
    if value._storage.buffer is not Buffer.sbuf:
        refuse(f"lies in {value.buffer!r}; cores exchange tiles in SBUF", operand)
    return value


def _check_engine(by: Any, sent: NkiTensor) -> None:
    if not isinstance(by, dma_engine):
        refuse(f"{by!r} is none of nki.isa.dma_engine", "dma_engine")
    if by is dma_engine.gpsimd_dma:
        itemsize = sent.dtype.itemsize
        per_partition = sent.size // sent.shape[0] * itemsize
        if per_partition > _GPSIMD_BYTES[itemsize]:
            refuse(
                f"gpsimd_dma moves at most {_GPSIMD_BYTES[itemsize]} bytes of {sent.dtype} per partition, src "
                f"{sent.shape} has {per_partition}; use dma_engine.dma",
                "dma_engine",
            )
