"""Run-time integers: registers of the engines' sequencers, and the scalars that follow them in NKI 0.7.

Their values come from tensors, so they exist only while the kernel runs on the device: Python's if, while, range, int
and comparisons cannot use them. They serve as offsets (`scalar_offset=`, `select`) and as bounds of `nl.fori_loop`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from ._dtypes import INTEGERS, Dtype, int32, int64
from ._errors import refuse
from ._scalars import RuntimeScalar
from ._storage import Buffer
from ._tensor import NkiTensor
from ._versions import since

_SCALAR_TYPES = {int32: np.int32, int64: np.int64}


class _Hidden(RuntimeScalar):
    """A value that Python cannot look at."""

    __slots__ = ()

    def _hidden(self, *_: Any) -> NoReturn:
        raise TypeError(
            f"a {type(self).__name__} holds a run-time value, which cannot steer Python's if, while, range, int or a "
            "comparison; use nl.fori_loop or nl.while_loop, or pass it as scalar_offset="
        )

    __bool__ = __int__ = __index__ = __float__ = __lt__ = __le__ = __gt__ = __ge__ = _hidden
    __eq__ = __ne__ = _hidden
    __hash__ = object.__hash__


class VirtualRegister(_Hidden):
    """A 32-bit register of an engine's sequencer, see `register_alloc`."""

    __slots__ = ("_held",)

    def __init__(self, state: int | None = None, frozen: bool = False) -> None:
        self._held = state

    @property
    def number(self) -> int:  # type: ignore[override]
        """What it holds; refused before anything was moved or loaded into it."""
        if self._held is None:
            refuse("the register holds nothing yet; register_move or register_load it first")
        return self._held

    def __repr__(self) -> str:
        return "VirtualRegister()"


class NkiScalar(_Hidden):
    """An integer computed on the device, int32 or int64 for good: `+`, `-`, `*` with ints and scalars of that width.

    int32 wraps. Attribute: `dtype`. NKI 0.7.
    """

    __slots__ = ("dtype",)

    def __init__(self, state: int, dtype: Any = int32) -> None:
        self.dtype: Dtype = np.dtype(dtype)
        super().__init__(_wrap(state, self.dtype))

    def _with(self, other: Any, function: Callable[[int, int], int], swap: bool = False) -> NkiScalar:
        if isinstance(other, NkiScalar):
            if other.dtype != self.dtype:
                refuse(f"{self.dtype} with {other.dtype}: scalars of one width only; load both from tiles of one type")
            value = other.number
        elif isinstance(other, (int, np.integer)) and not isinstance(other, bool):
            value = int(other)
            if _wrap(value, self.dtype) != value:
                refuse(f"{value} lies outside {self.dtype}, the width of the scalar")
        else:
            raise TypeError(f"an NkiScalar computes with ints and NkiScalars, found {other!r}")
        left, right = (value, self.number) if swap else (self.number, value)
        return NkiScalar(function(left, right), self.dtype)

    def __add__(self, other: Any) -> NkiScalar:
        return self._with(other, operator.add)

    __radd__ = __add__

    def __sub__(self, other: Any) -> NkiScalar:
        return self._with(other, operator.sub)

    def __rsub__(self, other: Any) -> NkiScalar:
        return self._with(other, operator.sub, swap=True)

    def __mul__(self, other: Any) -> NkiScalar:
        return self._with(other, operator.mul)

    __rmul__ = __mul__

    def __neg__(self) -> NkiScalar:
        return NkiScalar(-self.number, self.dtype)

    def __repr__(self) -> str:
        return f"NkiScalar(dtype={self.dtype})"


def register_alloc(x: int | None = None) -> VirtualRegister:
    """A register, holding the int `x` if that is given."""
    return VirtualRegister(None if x is None else _immediate(x, "x"))


def register_move(dst: Any, src: Any) -> None:
    """`dst = src`, an int or another register."""
    register = _writable(dst)
    register._held = src.number if isinstance(src, VirtualRegister) else _immediate(src, "src")


def register_load(dst: Any, src: Any) -> None:
    """`dst` = the one element of `src`, an integer tensor in SBUF or HBM of shape (1,) or (1, 1)."""
    register = _writable(dst)
    tile = _single(src, "src")
    if tile.dtype not in INTEGERS:
        refuse(f"type {tile.dtype}; a register holds a 32-bit integer: convert with tensor_copy first", "src")
    tile._storage.note_read(tile, "src")
    register._held = _wrap(int(tile._array.reshape(-1)[0]), int32)


def register_store(dst: Any, src: Any) -> None:
    """The one element of `dst`, an integer tensor in SBUF or HBM, = the register `src`."""
    tile = _single(dst, "dst")
    if tile.dtype not in INTEGERS:
        refuse(f"type {tile.dtype}; a register holds a 32-bit integer", "dst")
    if not isinstance(src, VirtualRegister):
        refuse(f"{src!r}, expected a register; a compile-time constant is written by memset", "src")
    _store(tile, src.number)


def scalar_load(src: Any) -> NkiScalar:
    """The one element of `src`, an int32 or int64 tensor in SBUF or HBM, as a scalar of that width. NKI 0.7."""
    since("0.7", "scalar_load", "use register_alloc and register_load")
    tile = _single(src, "src")
    if tile.dtype not in _SCALAR_TYPES:
        refuse(f"type {tile.dtype}; a scalar is int32 or int64 (signed)", "src")
    tile._storage.note_read(tile, "src")
    return NkiScalar(int(tile._array.reshape(-1)[0]), tile.dtype)


def scalar_store(dst: Any, value: Any) -> None:
    """The one element of `dst` = `value`, a scalar of the same width. NKI 0.7."""
    since("0.7", "scalar_store", "use register_store")
    tile = _single(dst, "dst")
    if not isinstance(value, NkiScalar):
        refuse(f"{value!r} is no NkiScalar and would store nothing on Trn2; memset writes a constant", "value")
    if tile.dtype != value.dtype:
        refuse(f"type {tile.dtype}, the scalar has {value.dtype}; store at the scalar's width", "dst")
    _store(tile, value.number)


def _wrap(value: int, dtype: Dtype) -> int:
    bits = 8 * dtype.itemsize
    return (value + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))


def _immediate(value: Any, operand: str) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not -(2**31) <= value < 2**32:
        refuse(f"{value!r}, expected a 32-bit int or a register", operand)
    return _wrap(int(value), int32)


def _writable(dst: Any) -> VirtualRegister:
    if not isinstance(dst, VirtualRegister):
        refuse(f"{dst!r}, expected a register made by register_alloc", "dst")
    return dst


def _single(value: Any, operand: str) -> NkiTensor:
    if type(value) is not NkiTensor:
        refuse(f"expected a tensor, found {value!r}", operand)
    if value._storage.buffer is Buffer.psum or value.size != 1 or value.ndim > 2:
        refuse(
            f"{value.shape} in {value.buffer!r}; expected one element, (1,) or (1, 1), in SBUF or HBM",
            operand,
        )
    return value


def _store(tile: NkiTensor, value: int) -> None:
    tile._array[...] = np.asarray(value, np.int64).astype(tile._array.dtype)
    if tile._storage.watched:
        tile._storage.note_write(tile)
