"""DMA: copies, sums and transposes between HBM and SBUF, with static or run-time addresses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._alu import OPERATORS
from ._core import PARTITIONS
from ._dma_rows import accumulate_rows, gather, gathered, scatter
from ._dtypes import Array, assign, to_float32, uint32
from ._enums import choose, dge_mode, engine, oob_mode
from ._errors import refuse
from ._indirect import IndirectTensor, ScalarIndirect, VectorIndirect
from ._operands import Instruction, note_moved, refuse_repeats, settled
from ._storage import Buffer, Known
from ._tensor import MAX_DIMENSIONS, NkiTensor

_TRANSPOSES = {2: (1, 0), 3: (2, 1, 0), 4: (3, 1, 2, 0)}
_MAX_SOURCES = 16
_TRANSPOSE_BLOCK = 16
_TRANSPOSE_COLUMNS = 128


def dma_copy(
    dst: Any,
    src: Any,
    priority: Any = None,
    oob_mode: Any = oob_mode.error,
    dge_mode: Any = dge_mode.unknown,
    engine: Any = engine.unknown,
    name: str | None = None,
) -> Instruction:
    """Copies `src` to `dst`, HBM or SBUF each, in row-major order; equal element counts, shapes may differ.

    Equal types: the bits. Otherwise through fp32. A view with a run-time address on one side moves the copy to that
    address; one by `vector_offset` gathers (src) or scatters (dst) rows, which must differ when they are written. An
    index out of range is an error, or with `oob_mode.skip` leaves what it would have written as it was. Run-time
    addresses need descriptors made at run time: `dge_mode` swdge or, except for rows, hwdge. Source: nki.isa.dma_copy.
    """
    _check_dma(priority, dge_mode, engine, oob_mode)
    if type(src) is not NkiTensor or type(dst) is not NkiTensor:
        if _rows(dst, src, dge_mode, oob_mode is _SKIP):
            return Instruction()
        moved = _present(dst, "dst", oob_mode is _SKIP), _present(src, "src", oob_mode is _SKIP)
        if moved[0] is None or moved[1] is None:
            return Instruction()
        dst, src = moved
    source, known = _dma_moved(src, dst)
    array = dst._array
    _check_counts(source.size, src, dst)
    if source.shape != array.shape:
        source = source.reshape(array.shape)
    _check_writable(dst)
    if dge_mode is _HWDGE and src.dtype != dst.dtype:
        refuse("hardware descriptors (hwdge) cannot convert types", "dge_mode")
    watched = dst._storage.watched
    if watched:
        dst._storage.expect_write(dst)
    if source.dtype == array.dtype:
        array[...] = source
    else:
        assign(array, to_float32(settled(source, known if known is None else known.reshape(array.shape)), "src"))
    if watched or known is not None:
        note_moved(dst, known)
    return Instruction()


def dma_compute(
    dst: Any,
    srcs: Sequence[Any],
    reduce_op: Any,
    scales: Sequence[float] | None = None,
    unique_indices: bool = True,
    oob_mode: Any = oob_mode.error,
    name: str | None = None,
) -> Instruction:
    """`dst` = the sum of 2 to 16 sources, HBM or SBUF each, of equal element counts, in fp32, rounded once to dst's
    type.

    With rows by `vector_offset`: scatter-add, `dst[offsets] += tile` for srcs `[dst[offsets], tile]`, dst in HBM; or
    gather-add, `dst += rows[offsets]` for srcs `[rows[offsets], dst]`, dst in SBUF. The rows of one call must differ:
    merge equal ones first, or add them in calls of their own. Source: nki.isa.dma_compute.
    """
    _check_oob(oob_mode)
    if reduce_op is not OPERATORS["add"]:
        refuse(f"{reduce_op!r}; DMA engines compute nl.add only", "reduce_op")
    sources = list(srcs)
    if not 2 <= len(sources) <= _MAX_SOURCES:
        refuse(f"{len(sources)} sources; expected 2 to {_MAX_SOURCES}, dst among them where it is added to", "srcs")
    if scales is not None and [float(scale) for scale in scales] != [1.0] * len(sources):
        refuse(f"{list(scales)}; only 1.0 for each of the {len(sources)} sources is supported", "scales")
    if not unique_indices:
        refuse("False is not supported: merge equal rows first, or add them in calls of their own", "unique_indices")
    for operand, value in (("dst", dst), *(("srcs", source) for source in sources)):
        _reachable(value, operand)
        if isinstance(value, ScalarIndirect):
            refuse("has a run-time address; dma_compute takes rows by vector_offset or static addresses", operand)
    if any(isinstance(value, VectorIndirect) for value in (dst, *sources)):
        _check_writable(dst)
        accumulate_rows(dst, sources, oob_mode is _SKIP)
        return Instruction()
    total: Array | None = None
    for source in sources:
        array = to_float32(_dma_source(source, dst, "srcs"), "srcs")
        _check_counts(array.size, source, dst, "srcs")
        array = array.reshape(dst.shape)
        total = array if total is None else total + array
    _check_writable(dst)
    assign(dst._array, np.asarray(total))
    if dst._storage.watched:
        dst._storage.note_write(dst)
    return Instruction()


def dma_transpose(
    dst: Any,
    src: Any,
    axes: Sequence[int] | None = None,
    priority: Any = None,
    dge_mode: Any = dge_mode.unknown,
    oob_mode: Any = oob_mode.error,
    name: str | None = None,
) -> Instruction:
    """Transposes `src` (HBM or SBUF) into `dst` (SBUF), same type: axes (1, 0), (2, 1, 0) or (3, 1, 2, 0) by rank.

    `dge_mode` is unknown or hwdge, which has limits of its own. A `src` with rows by `vector_offset` is gathered first
    (2-byte types, from HBM, by software descriptors: unknown or swdge). Source: nki.isa.dma_transpose.
    """
    _check_dma(priority, dge_mode, engine.unknown, oob_mode)
    skip = oob_mode is _SKIP
    where: Array | None = None
    if isinstance(src, VectorIndirect):
        _check_indirect_transpose(src, dge_mode)
        _reachable(dst, "dst")
        source, known, where = gathered(src, "src", skip)
    else:
        if dge_mode not in (_ANY_DGE, _HWDGE):
            refuse(f"{dge_mode!r}; a transpose of a static view takes unknown or hwdge", "dge_mode")
        _reachable(src, "src")
        _reachable(dst, "dst")
        static = _present(src, "src", skip)
        if static is None:
            return Instruction()
        source, known = _dma_moved(static, dst)
        if dge_mode is _HWDGE:
            _check_hardware_transpose(static)
    order = _TRANSPOSES.get(source.ndim)
    if order is None or (axes is not None and tuple(axes) != order):
        refuse(
            f"{axes} for a tensor of {source.ndim} dimensions; expected one of {list(_TRANSPOSES.values())} by rank",
            "axes",
        )
    if type(dst) is not NkiTensor or dst._storage.buffer is not Buffer.sbuf:
        refuse(f"lies in {dst.buffer!r}; dma_transpose writes SBUF, at a static address", "dst")
    result = source.transpose(order)
    if dst.shape != result.shape:
        refuse(f"shape {dst.shape}, src {src.shape} transposed by {order} is {result.shape}", "dst")
    if dst._array.dtype != source.dtype:
        refuse(f"type {dst.dtype}, src has {source.dtype}; dma_transpose does not convert", "dst")
    if where is None:
        dst._array[...] = result
    else:
        where = np.broadcast_to(where, source.shape).transpose(order)
        np.copyto(dst._array, result, where=where)
    note_moved(dst, None if known is None else known.transpose(order), where)
    return Instruction()


_UNKNOWN = engine.unknown
_DMA_ENGINES = (engine.sync, engine.scalar)
_HWDGE, _ANY_DGE, _NO_DGE, _SWDGE = dge_mode.hwdge, dge_mode.unknown, dge_mode.none, dge_mode.swdge
_SKIP, _ERROR = oob_mode.skip, oob_mode.error


def _rows(dst: Any, src: Any, mode: Any, skip: bool) -> bool:
    """Gathers or scatters if one side has rows by `vector_offset`; says whether it did."""
    for operand, value in (("src", src), ("dst", dst)):
        _reachable(value, operand)
    if mode is _NO_DGE:
        refuse("none: a run-time address needs descriptors made at run time (swdge, hwdge or unknown)", "dge_mode")
    by_rows = isinstance(src, VectorIndirect), isinstance(dst, VectorIndirect)
    if not any(by_rows):
        return False
    if mode is _HWDGE:
        refuse("hwdge makes no descriptors for rows by vector_offset; leave it out, or pass swdge", "dge_mode")
    if isinstance(src, IndirectTensor) and isinstance(dst, IndirectTensor):
        refuse("both src and dst have a run-time address; with rows by vector_offset one side is static", "src, dst")
    _check_counts(src.size, src, dst)
    _check_writable(dst)
    if by_rows[0]:
        gather(dst, src, skip)
    else:
        scatter(dst, *_moved(src, "src"), skip)
    return True


def _present(value: Any, operand: str, skip: bool) -> NkiTensor | None:
    """`value` at its present address; None if that lies outside and is to be skipped."""
    if isinstance(value, ScalarIndirect):
        return value.at(operand, skip)
    if isinstance(value, VectorIndirect):
        return value.now(operand)
    tensor: NkiTensor = value
    return tensor


def _dma_source(src: NkiTensor, dst: NkiTensor, operand: str = "src") -> Array:
    """The elements of `src`, to compute with; checks that both ends are memory that a DMA reaches."""
    _check_ends(src, dst, operand)
    if src._storage.watched:
        src._storage.note_read(src, operand)
    return src._array


def _dma_moved(src: NkiTensor, dst: NkiTensor) -> tuple[Array, Known]:
    """The elements of `src`, and which of them were written (None: all); checks as `_dma_source` does."""
    _check_ends(src, dst, "src")
    return _moved(src, "src")


def _check_ends(src: NkiTensor, dst: NkiTensor, operand: str) -> None:
    buffers = src._storage.buffer, dst._storage.buffer
    if Buffer.psum in buffers or src._array.ndim > MAX_DIMENSIONS or dst._array.ndim > MAX_DIMENSIONS:
        _reachable(src, operand)
        _reachable(dst, "dst")
    if dst._repeats:
        refuse_repeats(dst)


def _moved(src: NkiTensor, operand: str) -> tuple[Array, Known]:
    return src._array, src._storage.note_move(src, operand) if src._storage.watched else None


def _reachable(value: Any, operand: str) -> None:
    if not isinstance(value, NkiTensor):
        refuse(f"expected a tensor, found {value!r}", operand)
    if value._storage.buffer is Buffer.psum:
        refuse("lies in PSUM; a DMA reaches only HBM and SBUF: tensor_copy it to SBUF first", operand)
    if value.ndim > MAX_DIMENSIONS:
        refuse(f"{value.shape} has {value.ndim} dimensions; a DMA moves at most {MAX_DIMENSIONS}", operand)


def _check_counts(size: int, src: Any, dst: Any, operand: str = "src") -> None:
    if size != dst.size:
        refuse(f"{src.shape} has {size} elements, dst {dst.shape} has {dst.size}; a DMA needs equal counts", operand)


def _check_writable(dst: Any) -> None:
    if not dst._storage.writable:
        refuse(
            f"{dst._storage.name} is not contiguous or read-only memory of the caller, so the kernel works on a copy "
            "and cannot write it in place; pass a contiguous, writable tensor",
            "dst",
        )


def _check_dma(priority: Any, mode: Any, by: Any, outside: Any) -> None:
    if mode is _ANY_DGE and by is _UNKNOWN and outside is _ERROR and priority is None:
        return
    if priority is not None:
        refuse("needs Trn3; the target is Trn2", "priority")
    if not isinstance(mode, dge_mode):
        refuse(f"{mode!r} is none of nki.isa.dge_mode", "dge_mode")
    _check_oob(outside)
    if by is not _UNKNOWN:
        choose(by, _DMA_ENGINES)
        if mode is not _HWDGE:
            refuse(f"{by!r} may be chosen only with dge_mode=hwdge", "engine")


def _check_oob(outside: Any) -> None:
    if outside is not _ERROR and outside is not _SKIP:
        refuse(f"{outside!r} is none of nki.isa.oob_mode", "oob_mode")


def _check_hardware_transpose(source: NkiTensor) -> None:
    shape = source.shape
    first_ok = (
        shape[0] == _TRANSPOSE_BLOCK
        if source.ndim == 2
        else shape[0] in (1, 2, 4, 8, 16) and shape[0] * shape[-2] % _TRANSPOSE_BLOCK == 0
    )
    if source.dtype.itemsize != 2 or shape[-1] > _TRANSPOSE_COLUMNS or not first_ok:
        refuse(
            f"{source.dtype} {shape}: hwdge transposes 2-byte types with a last dimension of at most 128 and a first "
            "one of 16 (2-D), or of 1, 2, 4, 8, 16 with shape[0] * shape[-2] % 16 == 0",
            "dge_mode",
        )


def _check_indirect_transpose(src: VectorIndirect, mode: Any) -> None:
    if mode not in (_ANY_DGE, _SWDGE):
        refuse(f"{mode!r}; rows by vector_offset are transposed by software descriptors: unknown or swdge", "dge_mode")
    shape, offsets = src.shape, src.offsets
    if src.dtype.itemsize != 2 or shape[-1] > _TRANSPOSE_COLUMNS or shape[0] % _TRANSPOSE_BLOCK != 0:
        refuse(
            f"{src.dtype} {shape}: rows by vector_offset are transposed with 2-byte types, a last dimension of at most "
            f"{_TRANSPOSE_COLUMNS} and a number of rows that is a multiple of {_TRANSPOSE_BLOCK}",
            "src",
        )
    if len(shape) == 4 and 1 not in shape[1:3]:
        refuse(f"{shape}: of the two middle dimensions one has size 1", "src")
    if offsets.dtype != uint32 or offsets.shape[0] % _TRANSPOSE_BLOCK != 0 or offsets.shape[0] > PARTITIONS:
        refuse(
            f"{offsets.dtype} {offsets.shape}: offsets of a transpose are uint32 [16 to 128 in steps of 16, 1] or "
            "[128, columns]",
            "vector_offset",
        )
