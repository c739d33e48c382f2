"""Random numbers: the generators inside the Vector and GpSimd engines.

The documentation gives the algorithm of GpSimd's generator (XORWOW, six words per partition), not that of Vector's, nor
the values that either starts with. Here every launch starts them from 0, so that results are reproducible; on a device
they go on from launch to launch.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from ._core import PARTITIONS, Core
from ._dtypes import FLOATS, INTEGERS, float32, uint32
from ._enums import choose, engine
from ._errors import refuse
from ._operands import Instruction, fit, only_sbuf, read, target, write
from ._tensor import NkiTensor

Words = NDArray[np.uint32]

STATE_WORDS = 6
_WEYL = np.uint32(362_437)
_UNKNOWN, _VECTOR, _GPSIMD = engine.unknown, engine.vector, engine.gpsimd


class _Generators:
    """One core's: Vector's sequence and GpSimd's 128 lanes."""

    def __init__(self) -> None:
        self.lanes: Words = _scatter(np.arange(PARTITIONS * STATE_WORDS, dtype=np.uint32)).reshape(-1, STATE_WORDS)
        self.seed(0)

    def seed(self, value: int) -> None:
        """Starts Vector's sequence."""
        self.vector = np.random.Generator(np.random.Philox(key=value))

    def from_vector(self, partitions: int, count: int) -> Words:
        """[partitions, count] random words of Vector."""
        return self.vector.integers(0, 2**32, (partitions, count), dtype=np.uint32)

    def from_gpsimd(self, partitions: int, count: int) -> Words:
        """[partitions, count] random words of GpSimd, each partition from its own lane."""
        result = np.empty((partitions, count), np.uint32)
        x, y, z, w, v, d = (self.lanes[:partitions, word].copy() for word in range(STATE_WORDS))
        for column in range(count):
            t = x ^ (x >> np.uint32(2))
            x, y, z, w = y, z, w, v
            v = (v ^ (v << np.uint32(4))) ^ (t ^ (t << np.uint32(1)))
            d = d + _WEYL
            result[:, column] = v + d
        self.lanes[:partitions] = np.stack([x, y, z, w, v, d], axis=1)
        return result


_of_core: WeakKeyDictionary[Core, _Generators] = WeakKeyDictionary()


def rng(dst: Any, engine: Any = engine.unknown, name: str | None = None) -> Instruction:
    """32 random bits per element, of which an integer `dst` keeps the lowest that it holds (Vector or GpSimd)."""
    dst = target(dst)
    array = dst._array
    if array.dtype not in INTEGERS:
        refuse(f"type {array.dtype}; random bits go to integers", "dst")
    generators = _generators(dst)
    count = array.size // array.shape[0]
    if choose(engine, (_VECTOR, _GPSIMD)) is _GPSIMD:
        only_sbuf(dst, "dst", "GpSimd")
        words = generators.from_gpsimd(array.shape[0], count)
    else:
        words = generators.from_vector(array.shape[0], count)
    write(dst, words.astype(array.dtype))
    return Instruction()


def set_rng_seed(src_seeds: Any, name: str | None = None) -> Instruction:
    """Starts the Vector engine's generator from one 32-bit value, `src_seeds` (1, 1) in SBUF or PSUM."""
    seeds = read(src_seeds, "src_seeds")
    if seeds.shape != (1, 1) or seeds.itemsize != 4:
        refuse(f"{seeds.dtype} {seeds.shape}, expected a 32-bit value (1, 1)", "src_seeds")
    _generators(src_seeds).seed(int(np.ascontiguousarray(seeds).view(np.uint32)[0, 0]))
    return Instruction()


def rand_set_state(src_seeds: Any, engine: Any = engine.unknown, name: str | None = None) -> Instruction:
    """Sets GpSimd's generator: six uint32 words for each partition, `src_seeds` (P, 6) in SBUF."""
    choose(engine, (_GPSIMD,))
    seeds = read(src_seeds, "src_seeds")
    _check_state(src_seeds, "src_seeds")
    _generators(src_seeds).lanes[: seeds.shape[0]] = seeds
    return Instruction()


def rand_get_state(dst: Any, engine: Any = engine.unknown, name: str | None = None) -> Instruction:
    """Stores GpSimd's generator, six uint32 words for each partition, to `dst` (P, 6) in SBUF."""
    choose(engine, (_GPSIMD,))
    dst = target(dst)
    _check_state(dst, "dst")
    write(dst, _generators(dst).lanes[: dst.shape[0]])
    return Instruction()


def dropout(dst: Any, data: Any, prob: Any, name: str | None = None) -> Instruction:
    """`dst = data` with each element replaced by 0 with probability `prob`, a number or a tile (P, 1) (Vector).

    What is kept is not scaled by 1 / (1 - prob). `dst` has the type of `data`. A tile `prob` is floating point, fp32
    for integer data.
    """
    values = read(data, "data")
    dst = target(dst)
    fit(dst, values, "data")
    if values.dtype != dst._array.dtype:
        refuse(f"type {dst.dtype}, data has {values.dtype}; dropout does not convert", "dst")
    partitions = values.shape[0]
    chance: Any
    if isinstance(prob, NkiTensor):
        tile = read(prob, "prob")
        if tile.shape[0] != partitions or tile.size != partitions:
            refuse(f"expected a number or ({partitions}, 1), found {tile.shape}", "prob")
        if tile.dtype not in FLOATS or (values.dtype in INTEGERS and tile.dtype != float32):
            refuse(f"type {tile.dtype}; floating point, fp32 for integer data", "prob")
        chance = tile.reshape(partitions, 1).astype(np.float64)
    elif isinstance(prob, (int, float, np.integer, np.floating)) and not isinstance(prob, bool):
        chance = np.float64(prob)
    else:
        refuse(f"{prob!r}, expected a number or a tile ({partitions}, 1)", "prob")
    if np.any(~((chance >= 0.0) & (chance <= 1.0))):
        refuse("lies outside [0, 1]", "prob")
    flat = values.reshape(partitions, -1)
    dropped = _generators(dst).from_vector(*flat.shape) < chance * 2.0**32
    write(dst, np.where(dropped, np.zeros((), values.dtype), flat).reshape(dst.shape))
    return Instruction()


def _generators(tensor: NkiTensor) -> _Generators:
    core = tensor._storage.core
    found = _of_core.get(core)
    if found is None:
        found = _of_core[core] = _Generators()
    return found


def _check_state(tensor: NkiTensor, operand: str) -> None:
    only_sbuf(tensor, operand, "GpSimd")
    if tensor.dtype != uint32 or tensor.ndim != 2 or tensor.shape[1] != STATE_WORDS:
        refuse(f"{tensor.dtype} {tensor.shape}, expected uint32 (partitions, {STATE_WORDS})", operand)


def _scatter(words: Words) -> Words:
    """Distinct, well mixed words (the finaliser of MurmurHash3)."""
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        words = (words ^ (words >> np.uint32(shift))) * np.uint32(factor)
    return words ^ (words >> np.uint32(16))
