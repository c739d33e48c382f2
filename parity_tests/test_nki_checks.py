"""Every check of the stand-in: a program that trips it, with the message, beside its neighbour that just passes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np
import pytest

from parity_tests.nki_program import Check, empty, numbers, on_chip, product, run, tile, use

U8, I32 = nl.uint8, nl.int32
COMMAND = nisa.reduce_cmd
ENGINE = nisa.engine


def hbm(*shape: int, dtype: Any = nl.float32) -> Any:
    return nl.zeros(shape, dtype, buffer=nl.private_hbm)


def activate(op: Any, value: float, **more: Any) -> Any:
    return nisa.activation(dst=empty(2, 3), op=op, data=tile(2, 3, value=value), **more)


def add(dst: Any = None, left: Any = None, right: Any = None, **more: Any) -> Any:
    return nisa.tensor_tensor(
        dst=empty(4, 6) if dst is None else dst,
        data1=tile(4, 6) if left is None else left,
        data2=tile(4, 6) if right is None else right,
        **{"op": nl.add, **more},
    )


def scalar(**more: Any) -> Any:
    return nisa.tensor_scalar(**{"dst": empty(4, 6), "data": tile(4, 6), "op0": nl.add, "operand0": 1.0, **more})


def multiply(**more: Any) -> Any:
    return nisa.nc_matmul(
        **{
            "dst": empty(4, 6, buffer=nl.psum),
            "stationary": tile(8, 4),
            "moving": tile(8, 6),
            "accumulate": False,
            **more,
        }
    )


def reduce(**more: Any) -> Any:
    return nisa.tensor_reduce(**{"dst": empty(4, 2), "op": nl.add, "data": tile(4, 2, 3), "axis": 2, **more})


def partly_written(columns: int) -> Any:
    made = empty(4, 6)
    nisa.memset(dst=made[:, 0:columns], value=1.0)
    return made


def skipping_copy(predicate_value: int) -> None:
    made = empty(4, 6)
    nisa.tensor_copy_predicated(dst=made, src=tile(4, 6), predicate=tile(4, 6, dtype=U8, value=predicate_value))
    add(left=made)


def group(*steps: str) -> None:
    """A PSUM tile and what happens to it in order."""
    made = empty(4, 6, buffer=nl.psum)
    for step in steps:
        if step in ("memset", "ones"):
            nisa.memset(dst=made, value=1.0 if step == "ones" else 0.0)
        elif step == "read":
            nisa.tensor_copy(dst=empty(4, 6), src=made)
        else:
            multiply(dst=made, accumulate={"overwrite": False, "accumulate": True, "automatic": None}[step])


def shift(start: int, to: int) -> None:
    made = tile(4, 6)
    nisa.tensor_copy(dst=made[:, to : to + 3], src=made[:, start : start + 3])


def registers(*commands: Any, **more: Any) -> None:
    for command in commands:
        activate(
            nl.exp, 1.0, **{"reduce_op": None if command is COMMAND.idle else nl.add, "reduce_cmd": command, **more}
        )


def vector_registers(*commands: Any) -> None:
    for command in commands:
        nisa.tensor_scalar_reduce(
            dst=empty(2, 3), data=tile(2, 3), op0=nl.add, operand0=1.0, reduce_op=nl.add, reduce_cmd=command
        )


def live_tiles(count: int, columns: int) -> None:
    held = [empty(128, columns) for _ in range(count)]
    assert len(held) == count


def passing_tiles(count: int, columns: int) -> None:
    for _ in range(count):
        empty(128, columns)


def psum_tiles(count: int, columns: int) -> None:
    held = [empty(128, columns, buffer=nl.psum) for _ in range(count)]
    assert len(held) == count


CHECKS: dict[str, Check] = {
    # Allocation
    "more than 128 partitions": Check(
        lambda: empty(129, 1),
        "Size of partition dimension 129 exceeds architecture limitation of 128",
        lambda: empty(128, 1),
    ),
    "on-chip tensor of one dimension": Check(lambda: empty(5), "at least one free dimension", lambda: empty(5, 1)),
    "dimension of size 0": Check(lambda: empty(4, 0), "none of size 0", lambda: empty(4, 1)),
    "six dimensions": Check(lambda: empty(1, 1, 1, 1, 1, 1), "1 to 5 dimensions", lambda: empty(1, 1, 1, 1, 1)),
    "type that Trn2 lacks": Check(
        lambda: empty(4, 4, dtype=np.float64), "no element type of Trn2", lambda: empty(4, 4)
    ),
    "int64": Check(lambda: empty(4, 4, dtype=np.int64), "no element type of Trn2", lambda: empty(4, 4, dtype=I32)),
    "buffer by name": Check(lambda: empty(4, 4, buffer="sbuf"), "is no buffer", lambda: empty(4, 4, buffer=nl.sbuf)),
    "SBUF overflow": Check(lambda: live_tiles(2, 26_624), "SBUF overflow", lambda: live_tiles(2, 26_623)),
    "SBUF counts live tiles only": Check(
        lambda: live_tiles(9, 20_000), "SBUF overflow", lambda: passing_tiles(9, 20_000)
    ),
    "PSUM tile too large": Check(lambda: psum_tiles(1, 4097), "PSUM overflow", lambda: psum_tiles(1, 4096)),
    "PSUM banks": Check(lambda: psum_tiles(9, 512), "no 1 free bank", lambda: psum_tiles(8, 512)),
    "PSUM tiles share a bank": Check(lambda: psum_tiles(16, 257), "no 1 free bank", lambda: psum_tiles(16, 256)),
    # Views
    "slice beyond the end": Check(
        lambda: tile(4, 6)[:, 0:7], "slice 0:7 of dimension 1 of (4, 6)", lambda: tile(4, 6)[:, 0:6]
    ),
    "empty slice": Check(lambda: tile(4, 6)[:, 3:3], "at least one element", lambda: tile(4, 6)[:, 3:4]),
    "negative step": Check(lambda: tile(4, 6)[:, 5:0:-1], "positive step", lambda: tile(4, 6)[:, 0:6:5]),
    "step over partitions": Check(lambda: tile(4, 6)[0:4:2], "of 1 over partitions", lambda: hbm(4, 6)[0:4:2]),
    "int out of range": Check(lambda: tile(4, 6)[:, 6], "index 6 lies outside", lambda: tile(4, 6)[:, 5]),
    "negative int out of range": Check(lambda: tile(4, 6)[:, -7], "index -7 lies outside", lambda: tile(4, 6)[:, -6]),
    "too many indices": Check(lambda: tile(4, 6)[0, 0, 0], "3 indices for the 2 dimensions", lambda: tile(4, 6)[0, 0]),
    "ds out of range": Check(lambda: tile(4, 6)[:, nl.ds(4, 3)], "slice 4:7", lambda: tile(4, 6)[:, nl.ds(4, 2)]),
    "ap beyond the storage": Check(
        lambda: hbm(4, 6).ap([[6, 4], [1, 6]], offset=1),
        "ends at element 24, the tensor has 24",
        lambda: hbm(4, 6).ap([[6, 4], [1, 6]]),
    ),
    "ap first step": Check(
        lambda: tile(4, 6).ap([[3, 4], [1, 2]]), "on chip the first pair is", lambda: tile(4, 6).ap([[6, 4], [1, 2]])
    ),
    "ap too many partitions": Check(
        lambda: tile(4, 6)[2:4].ap([[6, 3], [1, 1]]),
        "at offset 12 ends at element 24",
        lambda: tile(4, 6)[2:4].ap([[6, 2], [1, 1]]),
    ),
    "ap runs into the next partition": Check(
        lambda: tile(4, 6).ap([[6, 2], [5, 3]]),
        "go from element 0 to 10 of a partition that holds 6",
        lambda: tile(4, 6).ap([[6, 2], [5, 2]]),
    ),
    "ap begins before the tensor": Check(
        lambda: hbm(8).ap([[-1, 8]], offset=6), "begins at element -1", lambda: hbm(8).ap([[-1, 8]], offset=7)
    ),
    "ap runs back into the partition before": Check(
        lambda: tile(4, 6).ap([[6, 2], [-1, 4]], offset=8),
        "go from element -1 to 2 of a partition that holds 6",
        lambda: tile(4, 6).ap([[6, 2], [-1, 3]], offset=8),
    ),
    "ap backwards over partitions": Check(
        lambda: tile(4, 6).ap([[-6, 2], [1, 6]], offset=6),
        "on chip the first pair is",
        lambda: hbm(4, 6).ap([[-6, 2], [1, 6]], offset=6),
    ),
    "ap backwards, twice the same element": Check(
        lambda: nisa.memset(dst=tile(4, 6).ap([[6, 4], [-1, 2], [1, 2]], offset=1), value=1.0),
        "more than once",
        lambda: nisa.memset(dst=tile(4, 6).ap([[6, 4], [-2, 2], [1, 2]], offset=2), value=1.0),
    ),
    "permuting partitions": Check(
        lambda: tile(4, 6).permute((1, 0)), "with 0 first", lambda: hbm(4, 6).permute((1, 0))
    ),
    "broadcasting partitions": Check(
        lambda: tile(1, 6).broadcast(0, 4), "is the partition dimension", lambda: hbm(1, 6).broadcast(0, 4)
    ),
    "broadcasting a dimension of 2": Check(
        lambda: tile(4, 2, 3).broadcast(1, 4), "only size 1 can be repeated", lambda: tile(4, 1, 3).broadcast(1, 4)
    ),
    "reshaping partitions": Check(
        lambda: tile(4, 6).reshape((2, 12)), "changes the partition dimension", lambda: tile(4, 6).reshape((4, 2, 3))
    ),
    "reshape with another count": Check(
        lambda: tile(4, 6).reshape((4, 5)), "24 elements do not fill", lambda: tile(4, 6).reshape((4, -1))
    ),
    "reshape that copies": Check(
        lambda: tile(4, 2, 3).permute((0, 2, 1)).reshape((4, 6)),
        "without copying",
        lambda: tile(4, 2, 3).reshape((4, 6)),
    ),
    "rearrange that copies": Check(
        lambda: tile(4, 2, 3).rearrange(("p", "a", "b"), ("p", ("b", "a"))),
        "without copying",
        lambda: tile(4, 2, 3).rearrange(("p", "a", "b"), ("p", ("a", "b"))),
    ),
    "rearrange with another name": Check(
        lambda: tile(4, 2, 3).rearrange(("p", "a", "b"), ("p", "c", "b")),
        "must be the same",
        lambda: tile(4, 2, 3).rearrange(("p", "a", "b"), ("p", "b", "a")),
    ),
    "squeezing a dimension of 2": Check(
        lambda: tile(4, 2, 3).squeeze_dim(1), "cannot be removed", lambda: tile(4, 1, 3).squeeze_dim(1)
    ),
    "view of another width": Check(
        lambda: tile(4, 3, dtype=nl.bfloat16).view(nl.float32),
        "cannot be read as float32",
        lambda: tile(4, 4, dtype=nl.bfloat16).view(nl.float32),
    ),
    "indirect": Check(lambda: tile(4, 6).indirect(0), "needs Trn3", lambda: tile(4, 6).is_indirect()),
    # Reads and writes
    "uninitialised read": Check(
        lambda: add(left=partly_written(5)),
        "data1: uninitialised read: 4 of 24 elements of nl.sbuf tensor (4, 6) were never written",
        lambda: add(left=partly_written(6)),
    ),
    "uninitialised read of a part": Check(
        lambda: use(partly_written(3)[:, 2:4]),
        "uninitialised read: 4 of 8",
        lambda: use(partly_written(3)[:, 1:3]),
    ),
    "uninitialised read through another element size": Check(
        lambda: use(partly_written(3).view(nl.uint16)[:, 5:7]),
        "uninitialised read: 4 of 8",
        lambda: use(partly_written(3).view(nl.uint16)[:, 4:6]),
    ),
    "uninitialised integers": Check(
        lambda: use(empty(4, 2, dtype=I32)),
        "uninitialised read",
        lambda: use(tile(4, 2, dtype=I32)),
    ),
    "uninitialised HBM": Check(
        lambda: use(nl.load(empty(4, 6, buffer=nl.private_hbm))),
        "data: uninitialised read: 24 of 24",
        lambda: use(nl.load(hbm(4, 6))),
    ),
    "uninitialised PSUM": Check(
        lambda: use(empty(4, 6, buffer=nl.psum)),
        "uninitialised read",
        lambda: use(product(4, 6)),
    ),
    "elements that a predicated copy skipped": Check(
        lambda: skipping_copy(0), "uninitialised read: 24 of 24", lambda: skipping_copy(1)
    ),
    "writing a repeated view": Check(
        lambda: add(dst=tile(4, 1).broadcast(1, 6)), "cannot be written", lambda: add(right=tile(4, 1).broadcast(1, 6))
    ),
    "writing an overlapping pattern": Check(
        lambda: add(dst=tile(4, 8).ap([[8, 4], [2, 3], [2, 2]])),
        "cannot be written",
        lambda: add(dst=tile(4, 8).ap([[8, 4], [4, 2], [1, 3]])),
    ),
    "start partition": Check(
        lambda: add(left=tile(128, 6)[16:20]), "starts at partition 16", lambda: add(left=tile(128, 6)[96:100])
    ),
    "DMA starts anywhere": Check(
        lambda: nisa.tensor_copy(dst=empty(4, 6), src=tile(9, 6)[5:9]),
        "a compute engine starts at 0, 32, 64, 96",
        lambda: nisa.dma_copy(dst=empty(4, 6), src=tile(9, 6)[5:9]),
    ),
    "four free dimensions": Check(
        lambda: add(left=tile(4, 2, 1, 3, 1)), "at most 3", lambda: add(left=tile(4, 2, 1, 3))
    ),
    "a view of six dimensions": Check(
        lambda: add(left=tile(4, 6).reshape((4, 1, 2, 1, 3, 1))),
        "5 free dimensions; the instruction takes at most 3",
        lambda: add(left=tile(4, 6).reshape((4, 1, 2, 1, 3, 1)).select(5, 0).select(3, 0).select(1, 0).reshape((4, 6))),
    ),
    "a DMA from a view of six dimensions": Check(
        lambda: nisa.dma_copy(dst=empty(4, 6), src=hbm(4, 6).reshape((4, 1, 2, 1, 3, 1))),
        "6 dimensions; a DMA moves at most 5",
        lambda: nisa.dma_copy(dst=empty(4, 6), src=hbm(4, 6).reshape((4, 1, 2, 3, 1))),
    ),
    "a DMA to a view of six dimensions": Check(
        lambda: nisa.dma_copy(dst=empty(4, 6).reshape((4, 1, 2, 1, 3, 1)), src=hbm(4, 6)),
        "dst: (4, 1, 2, 1, 3, 1) has 6 dimensions",
        lambda: nisa.dma_copy(dst=empty(4, 6).reshape((4, 1, 2, 1, 3, 1)).select(3, 0), src=hbm(4, 6)),
    ),
    "four free dimensions of a reduction": Check(
        lambda: reduce(dst=empty(4, 2), data=tile(4, 2, 1, 3, 1).reshape((4, 2, 3)), axis=1),
        "only trailing free axes",
        lambda: reduce(dst=empty(4, 2), data=tile(4, 2, 1, 3, 1), axis=(2, 3, 4)),
    ),
    "HBM operand": Check(
        lambda: add(left=hbm(4, 6)), "compute engine reaches only SBUF and PSUM", lambda: add(left=tile(4, 6))
    ),
    "no tensor": Check(lambda: add(left=1.0), "data1: expected a tensor, found 1.0", lambda: add(left=tile(4, 6))),
    # Data movement
    "DMA from PSUM": Check(
        lambda: nisa.dma_copy(dst=empty(4, 6), src=product(4, 6)),
        "src: lies in PSUM",
        lambda: nisa.dma_copy(dst=empty(4, 6), src=tile(4, 6)),
    ),
    "DMA counts": Check(
        lambda: nisa.dma_copy(dst=empty(4, 5), src=tile(4, 6)),
        "a DMA needs equal counts",
        lambda: nisa.dma_copy(dst=empty(3, 8), src=tile(4, 6)),
    ),
    "hwdge converts": Check(
        lambda: nisa.dma_copy(dst=empty(4, 6, dtype=nl.bfloat16), src=tile(4, 6), dge_mode=nisa.dge_mode.hwdge),
        "cannot convert types",
        lambda: nisa.dma_copy(dst=empty(4, 6), src=tile(4, 6), dge_mode=nisa.dge_mode.hwdge),
    ),
    "DMA engine without hwdge": Check(
        lambda: nisa.dma_copy(dst=empty(4, 6), src=tile(4, 6), engine=ENGINE.sync),
        "only with dge_mode=hwdge",
        lambda: nisa.dma_copy(dst=empty(4, 6), src=tile(4, 6), engine=ENGINE.sync, dge_mode=nisa.dge_mode.hwdge),
    ),
    "DMA priority": Check(
        lambda: nisa.dma_copy(dst=empty(4, 6), src=tile(4, 6), priority=1),
        "needs Trn3",
        lambda: nisa.dma_copy(dst=empty(4, 6), src=tile(4, 6)),
    ),
    "dma_transpose shape": Check(
        lambda: nisa.dma_transpose(dst=empty(4, 6), src=tile(4, 6)),
        "transposed by (1, 0) is (6, 4)",
        lambda: nisa.dma_transpose(dst=empty(6, 4), src=tile(4, 6)),
    ),
    "dma_transpose axes": Check(
        lambda: nisa.dma_transpose(dst=empty(4, 6), src=tile(4, 6), axes=(0, 1)),
        "axes: (0, 1)",
        lambda: nisa.dma_transpose(dst=empty(6, 4), src=tile(4, 6), axes=(1, 0)),
    ),
    "dma_transpose type": Check(
        lambda: nisa.dma_transpose(dst=empty(6, 4, dtype=nl.bfloat16), src=tile(4, 6)),
        "does not convert",
        lambda: nisa.dma_transpose(dst=empty(6, 4), src=tile(4, 6)),
    ),
    "dma_transpose hwdge": Check(
        lambda: nisa.dma_transpose(dst=empty(6, 16), src=tile(16, 6), dge_mode=nisa.dge_mode.hwdge),
        "2-byte types",
        lambda: nisa.dma_transpose(
            dst=empty(6, 16, dtype=nl.bfloat16), src=tile(16, 6, dtype=nl.bfloat16), dge_mode=nisa.dge_mode.hwdge
        ),
    ),
    "tensor_copy counts": Check(
        lambda: nisa.tensor_copy(dst=empty(4, 5), src=tile(4, 6)),
        "4 partitions x 6 elements against 4 x 5",
        lambda: nisa.tensor_copy(dst=empty(4, 3, 2), src=tile(4, 6)),
    ),
    "tensor_copy onto its own source": Check(
        lambda: shift(1, 0),
        "overlaps dst",
        lambda: (shift(3, 0), shift(0, 0)),
    ),
    "tensor_copy from PSUM by GpSimd": Check(
        lambda: nisa.tensor_copy(dst=empty(4, 6), src=product(4, 6), engine=ENGINE.gpsimd),
        "the GpSimd engine cannot reach",
        lambda: nisa.tensor_copy(dst=empty(4, 6), src=product(4, 6), engine=ENGINE.scalar),
    ),
    "engine that cannot copy": Check(
        lambda: nisa.tensor_copy(dst=empty(4, 6), src=tile(4, 6), engine=ENGINE.tensor),
        "cannot run this instruction",
        lambda: nisa.tensor_copy(dst=empty(4, 6), src=tile(4, 6), engine=ENGINE.vector),
    ),
    "memset float into int": Check(
        lambda: nisa.memset(dst=empty(4, 6, dtype=I32), value=0.0),
        "integer types an int",
        lambda: nisa.memset(dst=empty(4, 6, dtype=I32), value=0),
    ),
    "memset a string": Check(
        lambda: nisa.memset(dst=empty(4, 6), value="0"),
        "float types take a number",
        lambda: nisa.memset(dst=empty(4, 6), value=0),
    ),
    "memset out of range": Check(
        lambda: nisa.memset(dst=empty(4, 6, dtype=U8), value=256),
        "lies outside uint8",
        lambda: nisa.memset(dst=empty(4, 6, dtype=U8), value=255),
    ),
    "memset rank": Check(
        lambda: nisa.memset(dst=hbm(1, 1, 1, 1, 1), value=0.0),
        "reaches only SBUF",
        lambda: nisa.memset(dst=empty(1, 1, 1, 1, 1), value=0.0),
    ),
    "memset start partition": Check(
        lambda: nisa.memset(dst=empty(9, 6)[3:9], value=0.0),
        "starts at partition 3",
        lambda: nisa.memset(dst=empty(40, 6)[32:40], value=0.0),
    ),
    "iota counts": Check(
        lambda: nisa.iota(dst=empty(4, 6), pattern=[[1, 5]]),
        "make 5 elements per partition",
        lambda: nisa.iota(dst=empty(4, 6), pattern=[[1, 6]]),
    ),
    "iota in PSUM": Check(
        lambda: nisa.iota(dst=empty(4, 6, buffer=nl.psum), pattern=[[1, 6]]),
        "iota writes SBUF",
        lambda: nisa.iota(dst=empty(4, 6), pattern=[[1, 6]]),
    ),
    "iota beyond int32": Check(
        lambda: nisa.iota(dst=empty(4, 6, dtype=I32), pattern=[[2**30, 6]]),
        "outside int32",
        lambda: nisa.iota(dst=empty(4, 2, dtype=I32), pattern=[[2**30, 2]]),
    ),
    "predicate type": Check(
        lambda: nisa.tensor_copy_predicated(dst=tile(4, 6), src=tile(4, 6), predicate=tile(4, 6)),
        "expected uint8",
        lambda: nisa.tensor_copy_predicated(dst=tile(4, 6), src=0.5, predicate=tile(4, 6, dtype=U8)),
    ),
    # Tensor engine
    "contraction lengths": Check(
        lambda: multiply(moving=tile(7, 6)),
        "contracts over 7 partitions, stationary (8, 4) over 8",
        lambda: multiply(moving=tile(8, 6)),
    ),
    "stationary free size": Check(
        lambda: multiply(stationary=tile(8, 129), dst=empty(128, 6, buffer=nl.psum)),
        "free sizes 129",
        lambda: multiply(stationary=tile(8, 128), dst=empty(128, 6, buffer=nl.psum)),
    ),
    "moving free size": Check(
        lambda: multiply(moving=tile(8, 513), dst=empty(4, 513, buffer=nl.psum)[:, 0:512]),
        "and 513 (moving)",
        lambda: multiply(moving=tile(8, 512), dst=empty(4, 512, buffer=nl.psum)),
    ),
    "matmul dst shape": Check(
        lambda: multiply(dst=empty(4, 5, buffer=nl.psum)),
        "the product has [4, 6]",
        lambda: multiply(dst=empty(4, 6, buffer=nl.psum)),
    ),
    "matmul dst in SBUF": Check(
        lambda: multiply(dst=empty(4, 6)),
        "the Tensor engine writes PSUM",
        lambda: multiply(dst=empty(4, 6, buffer=nl.psum)),
    ),
    "matmul dst type": Check(
        lambda: multiply(dst=empty(4, 6, dtype=nl.bfloat16, buffer=nl.psum)),
        "on Trn2 a product is fp32",
        lambda: multiply(dst=empty(4, 6, buffer=nl.psum)),
    ),
    "matmul dst across banks": Check(
        lambda: multiply(dst=empty(4, 1024, buffer=nl.psum)[:, 510:516]),
        "must lie within one bank",
        lambda: multiply(dst=empty(4, 1024, buffer=nl.psum)[:, 512:518]),
    ),
    "matmul operand in PSUM": Check(
        lambda: multiply(moving=product(8, 6)), "the Tensor engine reads SBUF", lambda: multiply(moving=tile(8, 6))
    ),
    "fp32 with bf16": Check(
        lambda: multiply(moving=tile(8, 6, dtype=nl.bfloat16)),
        "fp32 multiplies only with fp32",
        lambda: multiply(moving=tile(8, 6, dtype=nl.bfloat16), stationary=tile(8, 4, dtype=nl.float16)),
    ),
    "integer operand": Check(
        lambda: multiply(moving=tile(8, 6, dtype=U8), stationary=tile(8, 4, dtype=U8)),
        "multiplies floating point",
        lambda: multiply(),
    ),
    "e4m3fn": Check(
        lambda: multiply(moving=tile(8, 6, dtype=nl.float8_e4m3fn), stationary=tile(8, 4, dtype=nl.bfloat16)),
        "float8_e4m3fn needs Trn3",
        lambda: multiply(moving=tile(8, 6, dtype=nl.float8_e4m3), stationary=tile(8, 4, dtype=nl.bfloat16)),
    ),
    "stationary rank": Check(
        lambda: multiply(stationary=tile(8, 2, 2)),
        "two free dimensions gives wrong products",
        lambda: multiply(moving=tile(8, 2, 3)),
    ),
    "tile position": Check(
        lambda: multiply(tile_position=(16, 0), tile_size=(32, 128)),
        "multiple of them",
        lambda: multiply(tile_position=(0, 0), tile_size=(32, 128)),
    ),
    "tile position off the operands": Check(
        lambda: multiply(tile_position=(32, 0), tile_size=(32, 128)),
        "starts at partition 0, the tile at row 32",
        lambda: multiply(
            stationary=tile(64, 4)[32:40], moving=tile(64, 6)[32:40], tile_position=(32, 0), tile_size=(32, 128)
        ),
    ),
    "double_row type": Check(
        lambda: multiply(stationary=tile(8, 2, 4), moving=tile(8, 2, 6), perf_mode=nisa.matmul_perf_mode.double_row),
        "double_row takes fp8",
        lambda: multiply(
            stationary=tile(8, 2, 4, dtype=nl.float8_e4m3),
            moving=tile(8, 2, 6, dtype=nl.float8_e5m2),
            perf_mode=nisa.matmul_perf_mode.double_row,
        ),
    ),
    "accumulating onto nothing": Check(
        lambda: group("accumulate"), "no matmul has written yet", lambda: group("overwrite", "accumulate", "accumulate")
    ),
    "accumulating onto memset": Check(
        lambda: group("memset", "accumulate"), "undefined on Trn2", lambda: group("memset", "overwrite", "accumulate")
    ),
    "automatic accumulation onto memset": Check(
        lambda: group("ones", "automatic"), "undefined on Trn2", lambda: group("memset", "automatic", "automatic")
    ),
    "reading inside an accumulation group": Check(
        lambda: group("overwrite", "read", "accumulate"),
        "was read since the group began",
        lambda: group("overwrite", "accumulate", "read", "overwrite"),
    ),
    "writing inside an accumulation group": Check(
        lambda: group("overwrite", "memset", "accumulate"),
        "another instruction wrote",
        lambda: group("overwrite", "accumulate", "memset"),
    ),
    "transpose size": Check(
        lambda: nisa.nc_transpose(dst=empty(64, 33), data=tile(33, 64), engine=ENGINE.vector),
        "the Vector engine up to (32, 32)",
        lambda: nisa.nc_transpose(dst=empty(32, 32), data=tile(32, 32), engine=ENGINE.vector),
    ),
    "transpose into SBUF by the Tensor engine": Check(
        lambda: nisa.nc_transpose(dst=empty(6, 4), data=tile(4, 6), engine=ENGINE.tensor),
        "from SBUF to PSUM",
        lambda: nisa.nc_transpose(dst=empty(6, 4, buffer=nl.psum), data=tile(4, 6), engine=ENGINE.tensor),
    ),
    "transpose type": Check(
        lambda: nisa.nc_transpose(dst=empty(6, 4, buffer=nl.psum), data=tile(4, 6, dtype=nl.bfloat16)),
        "does not convert",
        lambda: nisa.nc_transpose(
            dst=empty(6, 4, dtype=nl.bfloat16, buffer=nl.psum), data=tile(4, 6, dtype=nl.bfloat16)
        ),
    ),
    # Vector and GpSimd
    "broadcasting": Check(
        lambda: add(right=tile(4, 1)), "there is no broadcasting", lambda: add(right=tile(4, 1).broadcast(1, 6))
    ),
    "partitions differ": Check(
        lambda: add(right=tile(5, 6)), "5 partitions x 6 elements against 4 x 6", lambda: add(right=tile(4, 6))
    ),
    "both inputs in PSUM": Check(
        lambda: add(left=product(4, 6), right=product(4, 6)),
        "both inputs lie in PSUM",
        lambda: add(left=product(4, 6), right=tile(4, 6)),
    ),
    "power in PSUM": Check(
        lambda: add(left=product(4, 6), op=nl.power), "the GpSimd engine cannot reach", lambda: add(op=nl.power)
    ),
    "operator by name": Check(lambda: add(op="add"), "'add' is no operator", lambda: add(op=nl.add)),
    "NumPy function as operator": Check(lambda: add(op=np.add), "is no operator", lambda: add(op=nl.add)),
    "activation as ALU operator": Check(lambda: add(op=nl.exp), "takes no two tiles", lambda: activate(nl.exp, 1.0)),
    "divide": Check(
        lambda: add(op=nl.divide),
        "multiply by the reciprocal",
        lambda: nisa.reciprocal(dst=empty(4, 6), data=tile(4, 6)),
    ),
    "divide by a number": Check(
        lambda: scalar(op0=nl.divide), "rejected by the compiler for Trn2", lambda: scalar(op0=nl.multiply)
    ),
    "power of a number": Check(
        lambda: scalar(op0=nl.power),
        "with a scalar it passes the simulator and fails on Trn2",
        lambda: add(op=nl.power),
    ),
    "negative integer power": Check(
        lambda: add(empty(4, 6, dtype=I32), tile(4, 6, dtype=I32), tile(4, 6, dtype=I32, value=-1), op=nl.power),
        "negative exponent -1",
        lambda: add(empty(4, 6, dtype=I32), tile(4, 6, dtype=I32), tile(4, 6, dtype=I32, value=2), op=nl.power),
    ),
    "abs_max": Check(lambda: scalar(op0=nl.abs_max), "needs Trn3", lambda: scalar(op0=nl.maximum)),
    "abs_min": Check(lambda: scalar(op0=nl.abs_min), "needs Trn3", lambda: scalar(op0=nl.minimum)),
    "square in tensor_scalar": Check(
        lambda: scalar(op0=nl.square, operand0=0.0), "needs Trn3", lambda: scalar(op0=nl.abs, operand0=0.0)
    ),
    "unary operator with an operand": Check(
        lambda: scalar(op0=nl.abs, operand0=2.0), "takes 0 or None", lambda: scalar(op0=nl.abs, operand0=None)
    ),
    "operand is a tile": Check(
        lambda: scalar(operand0=tile(4, 6)), "operand0: expected (4, 1)", lambda: scalar(operand0=tile(4, 1))
    ),
    "operand is not fp32": Check(
        lambda: scalar(operand0=tile(4, 1, dtype=nl.bfloat16)),
        "must be fp32, found bfloat16",
        lambda: scalar(operand0=tile(4, 1)),
    ),
    "operand is a string": Check(lambda: scalar(operand0="1"), "expected a number", lambda: scalar(operand0=1)),
    "operand1 without op1": Check(
        lambda: scalar(operand1=1.0), "given without op1", lambda: scalar(op1=nl.add, operand1=1.0)
    ),
    "tensor_scalar on GpSimd": Check(
        lambda: scalar(engine=ENGINE.gpsimd),
        "GpSimd does only nl.rsqrt",
        lambda: scalar(op0=nl.rsqrt, operand0=0.0, engine=ENGINE.gpsimd),
    ),
    "tensor_scalar on Scalar": Check(
        lambda: scalar(op0=nl.subtract, engine=ENGINE.scalar),
        "the Scalar engine of Trn2 does",
        lambda: scalar(op0=nl.multiply, engine=ENGINE.scalar),
    ),
    "bitvec on floats": Check(
        lambda: scalar(op0=nl.bitwise_and, operand0=1),
        "takes integers",
        lambda: scalar(dst=empty(4, 6, dtype=I32), data=tile(4, 6, dtype=I32), op0=nl.bitwise_and, operand0=1),
    ),
    "bitvec mixed with arithmetic": Check(
        lambda: scalar(
            dst=empty(4, 6, dtype=I32),
            data=tile(4, 6, dtype=I32),
            op0=nl.left_shift,
            operand0=1,
            op1=nl.add,
            operand1=1,
        ),
        "cannot be mixed",
        lambda: scalar(
            dst=empty(4, 6, dtype=I32),
            data=tile(4, 6, dtype=I32),
            op0=nl.left_shift,
            operand0=1,
            op1=nl.bitwise_or,
            operand1=1,
        ),
    ),
    "integers that fp32 cannot hold": Check(
        lambda: scalar(data=tile(4, 6, dtype=I32, value=2**24 + 1)),
        "changes on its way through fp32",
        lambda: scalar(data=tile(4, 6, dtype=I32, value=2**24)),
    ),
    "fp8 overflow": Check(
        lambda: scalar(dst=empty(4, 6, dtype=nl.float8_e4m3), operand0=247.0),
        "overflows float8_e4m3",
        lambda: scalar(dst=empty(4, 6, dtype=nl.float8_e4m3), operand0=239.0),
    ),
    "fp8 overflow of the wide type": Check(
        lambda: scalar(dst=empty(4, 6, dtype=nl.float8_e5m2), operand0=61440.0),
        "value 61441.0 overflows float8_e5m2 (largest finite value 57344.0)",
        lambda: scalar(dst=empty(4, 6, dtype=nl.float8_e5m2), operand0=float("inf")),
    ),
    # Scalar engine
    "log of 0": Check(
        lambda: activate(nl.log, 0.0), "data * scale + bias reaches 0.0", lambda: activate(nl.log, 2.0**-64)
    ),
    "rsqrt of a tiny number": Check(
        lambda: activate(nl.rsqrt, 2.0**-88), "outside [", lambda: activate(nl.rsqrt, 2.0**-87)
    ),
    "sqrt of a negative number": Check(lambda: activate(nl.sqrt, -1.0), "reaches -1.0", lambda: activate(nl.sqrt, 1.0)),
    "reciprocal near 0": Check(
        lambda: activate(nl.reciprocal, -(2.0**-43)),
        "in which the table of nl.reciprocal is valid",
        lambda: activate(nl.reciprocal, -(2.0**-42)),
    ),
    "sin beyond pi": Check(lambda: activate(nl.sin, 3.2), "the table of nl.sin", lambda: activate(nl.sin, 3.14)),
    "arctan beyond pi/2": Check(
        lambda: activate(nl.arctan, 1.6), "the table of nl.arctan", lambda: activate(nl.arctan, 1.5)
    ),
    "log of NaN": Check(lambda: activate(nl.log, float("nan")), "reaches NaN", lambda: activate(nl.exp, float("nan"))),
    "domain after the scale": Check(
        lambda: activate(nl.log, 1.0, scale=-1.0), "reaches -1.0", lambda: activate(nl.log, -1.0, scale=-1.0)
    ),
    "prelu": Check(lambda: activate(nl.prelu, 1.0), "slope in activate2", lambda: activate(nl.relu, 1.0)),
    "activation on another engine": Check(
        lambda: activate(nl.exp, 1.0, engine=ENGINE.gpsimd),
        "cannot run this instruction",
        lambda: activate(nl.exp, 1.0, engine=ENGINE.scalar),
    ),
    "bias may be of any type": Check(
        lambda: activate(nl.exp, 1.0, bias=tile(2, 2, dtype=nl.bfloat16)),
        "one value per partition",
        lambda: activate(nl.exp, 1.0, bias=tile(2, 1, dtype=nl.bfloat16)),
    ),
    "no activation function": Check(
        lambda: activate(nl.add, 1.0), "nl.add is no activation function", lambda: activate(nl.exp, 1.0)
    ),
    "bias is not (P, 1)": Check(
        lambda: activate(nl.exp, 1.0, bias=tile(2, 3)),
        "bias: expected (2, 1)",
        lambda: activate(nl.exp, 1.0, bias=tile(2, 1)),
    ),
    "scale is not fp32": Check(
        lambda: activate(nl.exp, 1.0, scale=tile(2, 1, dtype=nl.bfloat16)),
        "scale: a per-partition operand must be fp32",
        lambda: activate(nl.exp, 1.0, scale=tile(2, 1)),
    ),
    "activation reduces with maximum": Check(
        lambda: registers(COMMAND.reset_reduce, reduce_op=nl.maximum),
        "legal: nl.add",
        lambda: registers(COMMAND.reset_reduce),
    ),
    "reduce without a start": Check(
        lambda: registers(COMMAND.reduce),
        "registers hold nothing",
        lambda: registers(COMMAND.reset_reduce, COMMAND.reduce),
    ),
    "reduce after idle": Check(
        lambda: registers(COMMAND.reset_reduce, COMMAND.idle, COMMAND.reduce),
        "idle included",
        lambda: registers(COMMAND.reset, COMMAND.reduce),
    ),
    "reduce_res while idle": Check(
        lambda: activate(nl.exp, 1.0, reduce_op=nl.add, reduce_res=empty(2, 1)),
        "a reduction needs a reduce_cmd",
        lambda: activate(nl.exp, 1.0, reduce_op=nl.add, reduce_res=empty(2, 1), reduce_cmd=COMMAND.reset_reduce),
    ),
    "reduce_res shape": Check(
        lambda: registers(COMMAND.reset_reduce, reduce_res=empty(2, 3)),
        "reduce_res: expected (2, 1)",
        lambda: registers(COMMAND.reset_reduce, reduce_res=empty(2, 1)),
    ),
    # Reductions
    "reducing a middle axis": Check(lambda: reduce(axis=1), "only trailing free axes", lambda: reduce(axis=2)),
    "reducing partitions": Check(
        lambda: reduce(axis=(0, 1, 2)), "0 is the partition axis", lambda: reduce(axis=(1, 2), dst=empty(4, 1))
    ),
    "illegal reduction": Check(
        lambda: reduce(op=nl.greater), "not legal as a reduction", lambda: reduce(op=nl.maximum)
    ),
    "reduction dst": Check(
        lambda: reduce(dst=empty(4, 3)), "leaves (4, 2)", lambda: reduce(dst=empty(4, 2, 1), keepdims=True)
    ),
    "tensor_scalar_reduce reversed": Check(
        lambda: nisa.tensor_scalar_reduce(
            dst=empty(4, 6), data=tile(4, 6), op0=nl.add, operand0=1.0, reduce_op=nl.add, reverse0=True
        ),
        "not supported by the hardware",
        lambda: nisa.tensor_scalar_reduce(dst=empty(4, 6), data=tile(4, 6), op0=nl.add, operand0=1.0, reduce_op=nl.add),
    ),
    "vector registers without a start": Check(
        lambda: vector_registers(COMMAND.reduce),
        "the Vector engine's accumulator registers",
        lambda: vector_registers(COMMAND.reset_reduce, COMMAND.reduce),
    ),
    "bn_stats size": Check(
        lambda: nisa.bn_stats(dst=empty(4, 6), data=tile(4, 513)),
        "the limit is 512",
        lambda: nisa.bn_stats(dst=empty(4, 6), data=tile(4, 512)),
    ),
    "bn_aggr triples": Check(
        lambda: nisa.bn_aggr(dst=empty(4, 2), data=tile(4, 7)),
        "not a multiple of 3",
        lambda: nisa.bn_aggr(dst=empty(4, 2), data=tile(4, 6)),
    ),
    # Selections
    "affine_select from PSUM": Check(
        lambda: nisa.affine_select(
            dst=empty(4, 6), pattern=[[1, 6]], channel_multiplier=0, on_true_tile=product(4, 6), on_false_value=0.0
        ),
        "the GpSimd engine cannot reach",
        lambda: nisa.affine_select(
            dst=empty(4, 6), pattern=[[1, 6]], channel_multiplier=0, on_true_tile=tile(4, 6), on_false_value=0.0
        ),
    ),
    "affine_select comparison": Check(
        lambda: nisa.affine_select(
            dst=empty(4, 6),
            pattern=[[1, 6]],
            channel_multiplier=0,
            on_true_tile=tile(4, 6),
            on_false_value=0.0,
            cmp_op=nl.add,
        ),
        "is no comparison",
        lambda: nisa.affine_select(
            dst=empty(4, 6),
            pattern=[[1, 6]],
            channel_multiplier=0,
            on_true_tile=tile(4, 6),
            on_false_value=0.0,
            cmp_op=nl.less,
        ),
    ),
    "range_select reduction": Check(
        lambda: range_select(reduce_op=nl.add), "legal: nl.maximum", lambda: range_select(reduce_op=nl.maximum)
    ),
    "select_reduce predicate": Check(
        lambda: nisa.select_reduce(dst=empty(4, 6), predicate=tile(4, 6), on_true=tile(4, 6), on_false=0.0),
        "expected int8, uint8, int16 or uint16",
        lambda: nisa.select_reduce(dst=empty(4, 6), predicate=tile(4, 6, dtype=U8), on_true=tile(4, 6), on_false=0.0),
    ),
    # Names
    "exponential": Check(
        lambda: nisa.exponential(dst=empty(4, 6), src=tile(4, 6)),
        "nki.isa.exponential: needs Trn3",
        lambda: activate(nl.exp, 1.0),
    ),
    "nc_matmul_mx": Check(
        lambda: nisa.nc_matmul_mx(dst=empty(4, 6, buffer=nl.psum), stationary=tile(8, 4), moving=tile(8, 6)),
        "nki.isa.nc_matmul_mx: needs Trn3",
        multiply,
    ),
    "quantize_mx": Check(
        lambda: nisa.quantize_mx(dst=empty(4, 6), src=tile(4, 6), dst_scale=empty(4, 1)),
        "nki.isa.quantize_mx: needs Trn3",
        lambda: scalar(dst=empty(4, 6, dtype=nl.float8_e4m3)),
    ),
    "activate2": Check(
        lambda: nisa.activate2(dst=empty(4, 6), data=tile(4, 6)),
        "nki.isa.activate2: needs Trn3",
        lambda: activate(nl.exp, 1.0),
    ),
    "Trn3 type": Check(
        lambda: empty(4, 4, dtype=nl.float8_e8m0fnu), "needs Trn3", lambda: empty(4, 4, dtype=nl.float8_e4m3)
    ),
    "mask=": Check(lambda: add(mask=1), "unexpected keyword argument 'mask'", lambda: add(name="label")),
    "dtype=": Check(
        lambda: scalar(dtype=nl.float32), "allocate dst with the dtype that you want", lambda: scalar(name="label")
    ),
    "missing operand": Check(
        lambda: nisa.reciprocal(dst=empty(4, 6)),
        "missing 1 required positional argument: 'data'",
        lambda: nisa.reciprocal(dst=empty(4, 6), data=tile(4, 6)),
    ),
    "program_id of another axis": Check(
        lambda: nl.program_id(1), "the launch grid has one axis", lambda: nl.program_id(0)
    ),
}


def range_select(**more: Any) -> Any:
    return nisa.range_select(
        dst=empty(4, 6),
        on_true_tile=tile(4, 6),
        comp_op0=nl.greater_equal,
        comp_op1=nl.less,
        bound0=tile(4, 1, value=0.0),
        bound1=tile(4, 1, value=4.0),
        **more,
    )


@pytest.mark.parametrize("name", CHECKS)
def test_a_check_trips_and_its_neighbour_passes(name: str) -> None:
    CHECKS[name].hold()


@pytest.mark.parametrize(
    "body",
    [lambda: bool(tile(4, 6)), lambda: tile(4, 6)[tile(1, 1)], lambda: list(tile(4, 6)), lambda: range(tile(1, 1))],
    ids=["bool", "index", "iteration", "range"],
)
def test_run_time_values_cannot_steer_python(body: Callable[[], Any]) -> None:
    with pytest.raises(TypeError):
        run(body)


def test_an_error_names_kernel_line_instruction_operand_shape_and_limit() -> None:
    def body(out: Any, x: Any) -> None:
        nisa.tensor_tensor(dst=out, data1=x, data2=x[:, 0:1], op=nl.add)

    with pytest.raises(nki.NkiValidationError) as caught:
        on_chip(body, numbers(4, 6), outputs=[((4, 6), nl.float32)])
    error = caught.value
    assert (error.kernel, error.instruction, error.operand) == ("program", "nki.isa.tensor_tensor", "data2")
    assert (error.file, error.line) == (__file__, body.__code__.co_firstlineno + 1)
    assert str(error).startswith(
        f"program ({__file__}:{error.line}): nki.isa.tensor_tensor: data2: (4, 1) does not fit"
    )


def test_an_error_in_a_view_names_the_view() -> None:
    with pytest.raises(nki.NkiValidationError) as caught:
        run(lambda: tile(4, 6)[:, 0:7])
    assert caught.value.instruction == "NkiTensor.__getitem__"


def test_a_type_error_of_the_kernel_itself_stays_one() -> None:
    def helper(a: int) -> int:
        return a

    with pytest.raises(TypeError, match="helper"):
        run(lambda: helper(b=1))  # type: ignore[call-arg]


MISTYPED: dict[str, tuple[Callable[[], Any], str, str]] = {
    "sizes that were divided": (
        lambda: nl.ndarray((8 / 2, 4), nl.float32, nl.sbuf),
        "nki.language.ndarray",
        "expected ints",
    ),
    "one size": (lambda: nl.ndarray(4, nl.float32, nl.sbuf), "nki.language.ndarray", "shape: 4: expected ints"),
    "an axis by name": (
        lambda: nisa.tensor_reduce(dst=tile(4, 1), op=nl.add, data=tile(4, 6), axis="1"),
        "nki.isa.tensor_reduce",
        "axis='1'",
    ),
    "a pattern of ints": (lambda: nisa.iota(tile(4, 6, dtype=I32), [1, 6]), "nki.isa.iota", "pattern"),
    "steps that are no ints": (lambda: nisa.iota(tile(4, 6, dtype=I32), [[0.5, 6]]), "nki.isa.iota", "expected ints"),
    "a multiplier that is no int": (
        lambda: nisa.iota(tile(4, 6, dtype=I32), [[1, 6]], channel_multiplier=0.5),
        "nki.isa.iota",
        "channel_multiplier: (0.5,): expected ints",
    ),
    "a pattern of strings": (lambda: tile(4, 6).ap([["6", 4], [1, 6]]), "NkiTensor.ap", "expected ints"),
    "no shuffle mask": (
        lambda: nisa.nc_stream_shuffle(dst=tile(32, 4), src=tile(32, 4), shuffle_mask=None),
        "nki.isa.nc_stream_shuffle",
        "not iterable",
    ),
    "a list as index": (lambda: tile(4, 6)[[0, 1]], "NkiTensor.__getitem__", "index=[0, 1]"),
    "an array as index": (lambda: tile(4, 6)[np.arange(2)], "NkiTensor.__getitem__", "index=array([0, 1])"),
    "a tensor as index": (lambda: tile(4, 6)[tile(1, 1)], "NkiTensor.__getitem__", "holds run-time values"),
    "a condition": (lambda: bool(tile(4, 6)), "NkiTensor.__bool__", "holds run-time values"),
    "sizes one by one": (lambda: tile(4, 6).reshape(4, 6), "NkiTensor.reshape", "takes 2 positional arguments"),
    "no sources": (
        lambda: nisa.dma_compute(dst=tile(4, 6), srcs=None, reduce_op=nl.add),
        "nki.isa.dma_compute",
        "given dst=NkiTensor(",
    ),
    "a value that is no number": (lambda: nl.full((4, 6), "a", nl.float32), "nki.language.full", "fill_value='a'"),
    "an attribute of arrays": (lambda: tile(4, 6).T, "", "no attribute 'T'"),
}


@pytest.mark.parametrize("name", MISTYPED)
def test_what_a_function_cannot_use_is_refused_with_its_place(name: str) -> None:
    body, instruction, message = MISTYPED[name]
    with pytest.raises(nki.NkiValidationError) as caught:
        run(body)
    error = caught.value
    assert (error.kernel, error.file, error.instruction or "") == ("probe", __file__, instruction)
    assert error.line is not None
    assert message in str(error)


@pytest.mark.parametrize("wrong", [lambda: int("a"), lambda: [][0], lambda: nl.fori_loop(0, 2, lambda i: int("a"))])
def test_an_error_of_the_kernel_between_functions_of_nki_stays_as_it_is(wrong: Callable[[], Any]) -> None:
    with pytest.raises((ValueError, IndexError)) as caught:
        run(wrong)
    assert not isinstance(caught.value, nki.NkiValidationError)


def test_a_name_that_nki_does_not_have_is_absent() -> None:
    assert not hasattr(nisa, "no_such_instruction")
    with pytest.raises(AttributeError, match="not in this stand-in"):
        _ = nisa.no_such_instruction
    assert nisa.get_nc_version() is nisa.nc_version.gen3
    assert nisa.get_nc_sub_version() == 0


def test_nothing_works_outside_a_kernel() -> None:
    with pytest.raises(nki.NkiValidationError, match="outside a kernel"):
        nl.ndarray((4, 6), dtype=nl.float32, buffer=nl.sbuf)
    with pytest.raises(nki.NkiValidationError, match="outside a kernel"):
        nl.program_id(0)
