"""How instructions read their operands and write their results: the checks that all of them share.

`P` is the number of partitions (dimension 0), `F` the number of elements per partition (all other dimensions
together). Two operands fit if P and F agree; their shapes may differ.
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ._core import PARTITIONS
from ._dtypes import Array, assign, float32, to_float32
from ._errors import NkiValidationError, refuse
from ._indirect import IndirectTensor
from ._storage import Buffer, Known
from ._tensor import QUADRANT, NkiTensor

Float = NDArray[np.float32]


class Instruction:
    """What an instruction returns: a handle for ordering. Here everything runs in program order anyway."""

    producers: tuple[Instruction, ...] = ()

    def depends_on(self, *producers: Instruction) -> Instruction:
        """States that the instruction must run after `producers`. Source: nki.isa.NkiInstruction."""
        self.producers += producers
        return self


def tensor(value: Any, operand: str) -> NkiTensor:
    """`value` as a tensor."""
    if not isinstance(value, NkiTensor):
        refuse(f"expected a tensor, found {value!r}", operand)
    return value


def _static(value: Any, operand: str) -> NkiTensor:
    """A view with a run-time address, at the present one."""
    if not isinstance(value, IndirectTensor):
        refuse(f"expected a tensor, found {value!r}", operand)
    return value.now(operand)


def read(value: Any, operand: str, max_rank: int = 4) -> Array:
    """The elements of an on-chip operand, in its own type and shape."""
    if type(value) is not NkiTensor:
        value = _static(value, operand)
    if not value._computable:
        _explain(value, operand, max_rank)
    if value._storage.watched:
        value._storage.note_read(value, operand)
    array: Array = value._array
    return array


def moved(value: Any, operand: str, max_rank: int = 4) -> tuple[Array, Known]:
    """The elements of an on-chip operand that is only moved, and which of them were written (None: all)."""
    found = view(value, operand, max_rank)
    known = found._storage.note_move(found, operand) if found._storage.watched else None
    return found._array, known


def settled(array: Array, known: Known) -> Array:
    """`array` for a conversion, which must not stumble over what nothing has written."""
    return array if known is None else np.where(known, array, np.zeros((), array.dtype))


def note_moved(dst: NkiTensor, known: Known, where: NDArray[np.bool_] | None = None) -> None:
    """Notes that `dst` (where `where` is true) holds what was moved there; `known` says what of that was written."""
    storage = dst._storage
    if storage.watched:
        storage.note_write(dst, where)
    if known is not None:
        missing = ~known.reshape(dst.shape)
        storage.take_back(dst, missing if where is None else missing & where)


def read_float32(value: Any, operand: str, max_rank: int = 4) -> Float:
    """The elements of an on-chip operand as fp32, in its own shape; no copy if it is fp32."""
    if type(value) is not NkiTensor:
        value = _static(value, operand)
    if not value._computable:
        _explain(value, operand, max_rank)
    if value._storage.watched:
        value._storage.note_read(value, operand)
    array = value._array
    return array if array.dtype is float32 else to_float32(array, operand)


def view(value: Any, operand: str, max_rank: int = 4) -> NkiTensor:
    """An on-chip operand with at most `max_rank` dimensions, neither read nor written yet."""
    if type(value) is not NkiTensor:
        value = _static(value, operand)
    if not value._computable:
        _explain(value, operand, max_rank)
    found: NkiTensor = value
    return found


def target(value: Any, operand: str = "dst", max_rank: int = 4) -> NkiTensor:
    """An on-chip destination with at most `max_rank` dimensions, the partition dimension included."""
    if type(value) is not NkiTensor:
        value = _static(value, operand)
    if not value._computable:
        _explain(value, operand, max_rank)
    if value._repeats:
        refuse_repeats(value, operand)
    found: NkiTensor = value
    return found


def refuse_repeats(view: NkiTensor, operand: str = "dst") -> NoReturn:
    """Refuses a destination whose indices name an element more than once."""
    refuse(f"a view {view.shape} that names elements more than once cannot be written", operand)


def write(dst: NkiTensor, values: Array, known: Known = None) -> None:
    """Writes `values` (as many elements per partition as `dst`), rounded to the type of `dst`; values that were moved
    with the `known` among them.
    """
    array = dst._array
    if values.shape != array.shape:
        values = values.reshape(array.shape)
    if array.dtype is values.dtype:
        array[...] = values
    else:
        assign(array, values)
    if known is not None:
        note_moved(dst, known)
    elif dst._storage.watched:
        dst._storage.note_write(dst)


def place(dst: NkiTensor, values: Float, spare: bool) -> Float | None:
    """Where a last step over operands of the shape of `values` may put its result: `dst` itself if it is fp32 and has
    that shape, else `values` if that is `spare` memory (a copy of ours), else None: new memory.
    """
    array = dst._array
    if array.dtype is float32 and array.shape == values.shape:
        return array
    return values if spare else None


def finish(dst: NkiTensor, result: Array) -> None:
    """Writes `result` to `dst`, unless `place` had it computed there."""
    if result is not dst._array:
        write(dst, result)
    elif dst._storage.watched:
        dst._storage.note_write(dst)


def as_float32(values: Array) -> Float:
    """`values` as fp32; the truth values that comparisons give become 1.0 and 0.0."""
    return values if values.dtype is float32 else values.astype(np.float32)


def fit(dst: NkiTensor, other: Array, operand: str) -> None:
    """Checks that `other` has the partitions and the elements per partition of `dst`."""
    shape = dst._array.shape
    if other.shape != shape and (other.shape[0] != shape[0] or other.size != dst._array.size):
        refuse(
            f"{other.shape} does not fit dst {shape}: {other.shape[0]} partitions x {other.size // other.shape[0]} "
            f"elements against {shape[0]} x {dst._array.size // shape[0]} (there is no broadcasting)",
            operand,
        )


def scalar(value: Any, partitions: int, rank: int, operand: str, any_type: bool = False) -> Any:
    """A per-partition operand, a number or a tensor (P, 1), shaped to broadcast over `rank` dimensions.

    The tensor is fp32, or of `any_type` and converted.
    """
    if isinstance(value, NkiTensor):
        array = vector(value, partitions, operand, any_type)
        return array if rank == 2 else array.reshape((partitions,) + (1,) * (rank - 1))
    if isinstance(value, (int, float)) or (isinstance(value, np.generic) and value.dtype.kind in "iuf"):
        return np.float32(value)
    raise NkiValidationError(f"expected a number or an fp32 tensor ({partitions}, 1), found {value!r}", operand)


def vector(value: Any, partitions: int, operand: str, any_type: bool = False) -> Float:
    """A tensor (P, 1), fp32 (or of `any_type`), as an fp32 array of that shape."""
    array = read(value, operand)
    if array.shape[0] != partitions or array.size != partitions:
        refuse(f"expected ({partitions}, 1), one value per partition, found {array.shape}", operand)
    if any_type:
        array = to_float32(array, operand)
    if array.dtype != float32:
        refuse(f"a per-partition operand must be fp32, found {array.dtype}", operand)
    return array.reshape(partitions, 1)


def not_both_psum(first: NkiTensor, second: Any, names: str) -> None:
    """Refuses two inputs in PSUM."""
    if first._storage.buffer is Buffer.psum and isinstance(second, NkiTensor) and second._storage.buffer is Buffer.psum:
        refuse("both inputs lie in PSUM; the engine can read one of them from there", names)


def only_sbuf(value: NkiTensor, operand: str, engine: str) -> None:
    """Refuses PSUM, for engines that do not reach it."""
    if value._storage.buffer is Buffer.psum:
        refuse(f"lies in PSUM, which the {engine} engine cannot reach; copy it to SBUF first", operand)


def _explain(value: NkiTensor, operand: str, max_rank: int = 4) -> None:
    """Says why a compute engine cannot use `value`; returns if more than 4 of `max_rank` dimensions was all."""
    storage = value._storage
    if not storage.on_chip:
        refuse(f"lies in {storage.buffer!r}; a compute engine reaches only SBUF and PSUM: dma_copy it first", operand)
    if value.ndim > max_rank:
        refuse(
            f"{value.shape} has {value.ndim - 1} free dimensions; the instruction takes at most {max_rank - 1}", operand
        )
    start = value._offset // storage.partition_bytes
    if start % QUADRANT:
        allowed = ", ".join(str(first) for first in range(0, PARTITIONS, QUADRANT))
        refuse(f"starts at partition {start}; a compute engine starts at {allowed}", operand)
