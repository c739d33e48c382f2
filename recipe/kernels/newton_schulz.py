"""Muon's direction: the semi-orthogonal matrix nearest to each of a batch of matrices, by a Newton-Schulz iteration.

X is the matrix or, if that is tall, its transpose, divided by its Frobenius norm; then, for every (a, b, c),

    A = X X^T,   X <- a X + (b A + c A^2) X,

which maps each singular value s to a s + b s^3 + c s^5 and leaves the singular vectors as they are. Two sequences of
coefficients: Muon's quintic (`QUINTIC`, Jordan et al., 2024), the same in each step, which brings singular values to
between about 0.7 and 1.2; and Polar Express (`POLAR_EXPRESS`, Amsel, Persson, Musco and Gower, arXiv:2505.16932), each
step of which is the best polynomial for what the steps before it leave, and which converges to 1.

The products are of `dtype`, bf16 or fp32, and summed in fp32; X, A and b A + c A^2 are rounded to `dtype`. Directions
are fp32.

A matrix in fp32 that is at least 3/2 as long one way as the other (`by_gram`) goes by its Gram matrix alone, with G =
X X^T and F = 1 to begin with:

    P = a + b G + c G^2,   F <- P F,   G <- P G P,   and in the end   X <- F X,

for all are polynomials of one matrix and commute. That is 5/9 of the multiplications where it is four times as long.
An error of G counts as much as it is large beside the square of the least singular value, so bf16 cannot do it.

What the kernel needs: all matrices of one launch, of any shapes, side by side in one flat tensor; in SBUF together
either X, X^T and A or, by the Gram matrix, four matrices of its size, past which X streams twice (`sbuf_bytes`: up to
1152 one way, and the other way any number in fp32, 4608 in bf16). LNC 1 and 2: the cores share the matrices of each
shape; one that is left over is computed by both, each of which stores half of it, so that they have the same control
flow without a barrier.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import nki
import nki.isa as nisa
import nki.language as nl
import torch
from torch import Tensor
from torch_neuronx import wrap_nki

from recipe.kernels.products import BANK, PARTITIONS, load, parts, product, transposed
from recipe.kernels.tiling import share

Coefficients = tuple[tuple[float, float, float], ...]

# So steep at zero that five steps are enough.
NEWTON_SCHULZ = (3.4445, -4.7750, 2.0315)
NEWTON_SCHULZ_STEPS = 5
QUINTIC: Coefficients = (NEWTON_SCHULZ,) * NEWTON_SCHULZ_STEPS
# As published (listing 1), for singular values from 1e-3 on, the first five of eight, before the safety factor of 1.01.
POLAR_EXPRESS_PUBLISHED: Coefficients = (
    (8.28721201814563, -23.595886519098837, 17.300387312530933),
    (4.107059111542203, -2.9478499167379106, 0.5448431082926601),
    (3.9486908534822946, -2.908902115962949, 0.5518191394370137),
    (3.3184196573706015, -2.488488024314874, 0.51004894012372),
    (2.300652019954817, -1.6689039845747493, 0.4188073119525673),
)
POLAR_EXPRESS: Coefficients = tuple((a / 1.01, b / 1.01**3, c / 1.01**5) for a, b, c in POLAR_EXPRESS_PUBLISHED)
# What the norm is multiplied by before the division: room for rounding, since Polar Express diverges from above 1.
QUINTIC_MARGIN = 1.0
POLAR_EXPRESS_MARGIN = 1.01

NORM_EPS = 1e-7  # a matrix of zeros stays one
SMALLEST_SQUARE = 2.0**-110  # within the square root's activation table, and far below NORM_EPS^2


class NkiNewtonSchulz:
    """The iteration by the NKI kernel below: one launch for all matrices."""

    def __init__(self, coefficients: Coefficients, margin: float, dtype: torch.dtype, lnc: int) -> None:
        self.coefficients = coefficients
        self.margin = margin
        self.dtype = dtype
        self.lnc = lnc

    def __call__(self, matrices: Sequence[Tensor]) -> list[Tensor]:
        """Matrices of any shapes -> their directions, in fp32."""
        order = sorted(range(len(matrices)), key=lambda index: tuple(matrices[index].shape))  # shapes beside each other
        flat = torch.cat([matrices[index].reshape(-1) for index in order]).to(self.dtype)
        shapes = tuple((matrices[index].size(0), matrices[index].size(1)) for index in order)
        out = wrap_nki(newton_schulz)[self.lnc](
            matrices=flat, shapes=shapes, coefficients=self.coefficients, margin=self.margin
        ).float()
        parts = out.split([rows * columns for rows, columns in shapes])
        found = {index: part.view(matrices[index].shape) for index, part in zip(order, parts, strict=True)}
        return [found[index] for index in range(len(matrices))]


class TorchNewtonSchulz:
    """The iteration by torch operators: matrices of one shape together."""

    def __init__(self, coefficients: Coefficients, margin: float, dtype: torch.dtype) -> None:
        self.coefficients = coefficients
        self.margin = margin
        self.dtype = dtype

    def __call__(self, matrices: Sequence[Tensor]) -> list[Tensor]:
        """Matrices of any shapes -> their directions, in fp32."""
        by_shape: dict[torch.Size, list[int]] = {}
        for index, matrix in enumerate(matrices):
            by_shape.setdefault(matrix.shape, []).append(index)
        found: dict[int, Tensor] = {}
        for indices in by_shape.values():
            batch = torch.stack([matrices[index] for index in indices])
            directions = newton_schulz_torch(batch, self.coefficients, self.margin, self.dtype)
            found.update(zip(indices, directions.unbind(0), strict=True))
        return [found[index] for index in range(len(matrices))]


def newton_schulz_torch(matrices: Tensor, coefficients: Coefficients, margin: float, dtype: torch.dtype) -> Tensor:
    """The definition, by Gram matrices where that is right and takes less."""
    if not by_gram(matrices.size(-2), matrices.size(-1), dtype.itemsize):
        return newton_schulz_reference(matrices, coefficients, margin, dtype)
    wide = matrices.mT if matrices.size(-2) > matrices.size(-1) else matrices
    x = wide / (wide.norm(dim=(-2, -1), keepdim=True) * margin + NORM_EPS)
    found: Tensor = gram_factor(x @ x.mT, coefficients) @ x
    return found.mT if matrices.size(-2) > matrices.size(-1) else found


def gram_factor(gram: Tensor, coefficients: Coefficients) -> Tensor:
    """The matrix F that takes X [N, rows, columns] to its direction, from G = X X^T alone."""
    factor = gram
    for step, (a, b, c) in enumerate(coefficients):
        polynomial = torch.baddbmm(gram, gram, gram, beta=b, alpha=c)
        polynomial.diagonal(dim1=-2, dim2=-1).add_(a)
        factor = polynomial @ factor if step > 0 else polynomial
        if step + 1 < len(coefficients):
            gram = polynomial @ (gram @ polynomial)
    return factor


def newton_schulz_reference(matrices: Tensor, coefficients: Coefficients, margin: float, dtype: torch.dtype) -> Tensor:
    """The definition over a batch [N, rows, columns]: fp32, by products in `dtype`."""
    x: Tensor = matrices.to(dtype)
    tall = x.size(-2) > x.size(-1)
    if tall:
        x = x.mT
    x = x / (x.norm(dim=(-2, -1), keepdim=True) * margin + NORM_EPS)  # singular values of at most 1
    for a, b, c in coefficients:
        gram = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    x = x.mT if tall else x
    return x.float()


def by_gram(rows: int, columns: int, itemsize: int) -> bool:
    """Whether a matrix of numbers of so many bytes goes by its Gram matrix: from 3/2 on it takes less in five steps."""
    return itemsize == 4 and 2 * max(rows, columns) >= 3 * min(rows, columns)


def sbuf_bytes(rows: int, columns: int, itemsize: int) -> int:
    """What the kernel holds of each partition of SBUF at once, for one matrix: X, its successor or X^T, A, A's
    polynomial or a transposed tile, and work tiles of two PSUM banks. By the Gram matrix: that, its successor, F and P;
    or one of them and three times as much as a bank's columns of X: as they come, turned around, and multiplied.
    """
    short, long = min(rows, columns), max(rows, columns)
    short_tiles, long_tiles = -(-short // PARTITIONS), -(-long // PARTITIONS)
    x, transposed, gram = short_tiles * long, long_tiles * short, short_tiles * short
    if by_gram(rows, columns, itemsize):
        return itemsize * max(4 * gram, gram + 3 * short_tiles * BANK) + 4096
    return itemsize * (x + max(transposed + gram, x + gram, 2 * gram + x)) + 4096


@nki.jit
def newton_schulz(matrices: Any, shapes: Any, coefficients: Any, margin: float) -> Any:
    """Matrices [elements], those of `shapes` = ((rows, columns), ...) one after the other, equal shapes adjacent ->
    their directions, like `matrices`, whose dtype the products have.
    """
    core, cores = nl.program_id(axis=0), nl.num_programs(axes=0)
    itemsize = 4 if matrices.dtype == nl.float32 else 2
    limit = nl.tile_size.sbuf_fmax_bytes
    directions = nl.ndarray(shape=matrices.shape, dtype=matrices.dtype, buffer=nl.shared_hbm)
    start, offset = 0, 0
    while start < len(shapes):
        rows, columns = shapes[start]
        need = sbuf_bytes(rows, columns, itemsize)
        assert need <= limit, (
            f"newton_schulz: a matrix {rows} x {columns} needs {need} bytes of each SBUF partition, {limit} are there"
        )
        count = 1
        while start + count < len(shapes) and shapes[start + count] == shapes[start]:
            count += 1
        each = count // cores
        mine = [(offset + (core * each + index) * rows * columns, 0, 1) for index in range(each)]
        mine += [(offset + index * rows * columns, core, cores) for index in range(cores * each, count)]
        for first, part, of in mine:
            if by_gram(rows, columns, itemsize):
                _direction_by_gram(directions, matrices, first, rows, columns, coefficients, margin, part, of)
                continue
            tiles = _direction(matrices, first, rows, columns, coefficients, margin)
            _store(directions, first, tiles, columns, part, of)
        start, offset = start + count, offset + count * rows * columns
    return directions


def _direction(matrices: Any, first: int, rows: int, columns: int, coefficients: Any, margin: float) -> list[Any]:
    """All steps for the matrix at `first`, as tiles of its rows.

    Of X [short, long] both X and X^T are kept, since a product contracts over partitions on both sides; A and its
    polynomial are symmetric, so they are their own transposes. What is used no more is dropped at once, to make room.
    """
    short, long = min(rows, columns), max(rows, columns)
    tall = rows > columns
    x = _load(matrices, first, rows, columns, columns)
    _normalise(x, columns, margin)
    turned = transposed(x)
    if tall:
        x, turned = turned, x
    for step, (a, b, c) in enumerate(coefficients):
        gram = _times(turned, turned, short)
        turned = []
        polynomial = _polynomial(gram, short, b, c)
        gram = []
        x = _stepped(x, polynomial, short, long, a)
        polynomial = []
        if tall or step + 1 < len(coefficients):
            turned = transposed(x)
    return turned if tall else x


def _load(matrices: Any, first: int, rows: int, width: int, columns: int) -> list[Any]:
    """Tiles of `rows` rows of `width` numbers from `first` on, of a matrix with `columns` columns."""
    return [
        load(matrices.ap(pattern=[[columns, bottom - top], [1, width]], offset=first + top * columns))
        for top, bottom in parts(rows, PARTITIONS)
    ]


def _store(target: Any, first: int, tiles: list[Any], columns: int, part: int, of: int) -> None:
    """Write tiles from `first` on, into a matrix with `columns` columns: all of it, or of the rows of each tile one of
    as many parts as `of` says.
    """
    row = first
    for tile in tiles:
        count, width = tile.shape
        low, high = share(count, part, of)
        if high > low:
            there = target.ap(pattern=[[columns, high - low], [1, width]], offset=row + low * columns)
            nisa.dma_copy(dst=there, src=tile[low:high, 0:width])
        row += count * columns


def _normalise(tiles: list[Any], columns: int, margin: float) -> None:
    """Divide the tiles by the Frobenius norm of all of them."""
    pmax = nl.tile_size.pmax
    squares = nl.ndarray(shape=(pmax, len(tiles)), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=squares, value=0.0)
    for index, tile in enumerate(tiles):
        count = tile.shape[0]
        unused = nl.ndarray(shape=(count, columns), dtype=tile.dtype, buffer=nl.sbuf)
        nisa.activation(
            dst=unused,
            op=nl.square,
            data=tile,
            reduce_op=nl.add,
            reduce_res=squares[0:count, index : index + 1],
            reduce_cmd=nisa.reduce_cmd.reset_reduce,
        )
    factor = _inverse_norm(squares, margin)
    for tile in tiles:
        nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=factor[0 : tile.shape[0], 0:1])


def _inverse_norm(squares: Any, margin: float) -> Any:
    """1 / (the root of the sum of `squares` x margin) on every partition [P, 1]: the sum over partitions is a product
    with ones.
    """
    pmax = nl.tile_size.pmax
    ones = nl.ndarray(shape=(pmax, pmax), dtype=nl.float32, buffer=nl.sbuf)
    sums = nl.ndarray(shape=(pmax, 1), dtype=nl.float32, buffer=nl.sbuf)
    total = nl.ndarray(shape=(pmax, 1), dtype=nl.float32, buffer=nl.psum)
    square = nl.ndarray(shape=(pmax, 1), dtype=nl.float32, buffer=nl.sbuf)
    norm = nl.ndarray(shape=(pmax, 1), dtype=nl.float32, buffer=nl.sbuf)
    divisor = nl.ndarray(shape=(pmax, 1), dtype=nl.float32, buffer=nl.sbuf)
    factor = nl.ndarray(shape=(pmax, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=ones, value=1.0)
    nisa.tensor_reduce(dst=sums, op=nl.add, data=squares, axis=1, keepdims=True)
    nisa.nc_matmul(dst=total, stationary=ones, moving=sums, accumulate=False)
    nisa.tensor_scalar(dst=square, data=total, op0=nl.maximum, operand0=SMALLEST_SQUARE)
    nisa.activation(dst=norm, op=nl.sqrt, data=square)
    nisa.tensor_scalar(dst=divisor, data=norm, op0=nl.multiply, operand0=margin, op1=nl.add, operand1=NORM_EPS)
    nisa.reciprocal(dst=factor, data=divisor)
    return factor


def _times(left: list[Any], right: list[Any], width: int) -> list[Any]:
    """left^T right, `width` columns, as tiles of its rows; A = X X^T from the tiles of X^T."""
    result = []
    for top, bottom in parts(left[0].shape[1], PARTITIONS):
        tile = nl.ndarray(shape=(bottom - top, width), dtype=left[0].dtype, buffer=nl.sbuf)
        for first, end in parts(width, BANK):
            summed = product(left, right, (top, bottom), (first, end))
            nisa.tensor_copy(dst=tile[0 : bottom - top, first:end], src=summed)
        result.append(tile)
    return result


def _polynomial(gram: list[Any], short: int, b: float, c: float) -> list[Any]:
    """B A + c A^2, as tiles of its rows; A^2 = A^T A leaves PSUM scaled, on the Scalar engine."""
    result = []
    for index, (top, bottom) in enumerate(parts(short, PARTITIONS)):
        tile = nl.ndarray(shape=(bottom - top, short), dtype=gram[0].dtype, buffer=nl.sbuf)
        for first, end in parts(short, BANK):
            summed = product(gram, gram, (top, bottom), (first, end))
            scaled = nl.ndarray(shape=(bottom - top, end - first), dtype=nl.float32, buffer=nl.sbuf)
            nisa.activation(dst=scaled, op=nl.copy, data=summed, scale=c)
            nisa.scalar_tensor_tensor(
                dst=tile[0 : bottom - top, first:end],
                data=gram[index][0 : bottom - top, first:end],
                op0=nl.multiply,
                operand0=b,
                op1=nl.add,
                operand1=scaled,
            )
        result.append(tile)
    return result


def _stepped(x: list[Any], polynomial: list[Any], short: int, long: int, a: float) -> list[Any]:
    """A X + polynomial X, as tiles of its rows."""
    result = []
    for index, (top, bottom) in enumerate(parts(short, PARTITIONS)):
        tile = nl.ndarray(shape=(bottom - top, long), dtype=x[0].dtype, buffer=nl.sbuf)
        for first, end in parts(long, BANK):
            summed = product(polynomial, x, (top, bottom), (first, end))
            nisa.scalar_tensor_tensor(
                dst=tile[0 : bottom - top, first:end],
                data=x[index][0 : bottom - top, first:end],
                op0=nl.multiply,
                operand0=a,
                op1=nl.add,
                operand1=summed,
            )
        result.append(tile)
    return result


def _direction_by_gram(
    target: Any,
    matrices: Any,
    first: int,
    rows: int,
    columns: int,
    coefficients: Any,
    margin: float,
    part: int,
    of: int,
) -> None:
    """All steps for the matrix at `first` by its Gram matrix, and this part of its direction into `target`.

    X comes twice, a bank's columns at a time: to be multiplied by itself, and by F.
    """
    short, tall = min(rows, columns), rows > columns
    gram: list[Any] = []
    for start, end in parts(max(rows, columns), BANK):
        chunk = _load_chunk(matrices, first, rows, columns, start, end)
        _add_gram(gram, chunk if tall else transposed(chunk), short)
    identity = _identity(min(short, PARTITIONS))
    inverse = _inverse_norm(_diagonal(gram, identity), margin)
    for tile in gram:
        scale = inverse[0 : tile.shape[0], 0:1]
        nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=scale, op1=nl.multiply, operand1=scale)
    factor: list[Any] = []
    for step, (a, b, c) in enumerate(coefficients):
        polynomial = _polynomial(gram, short, b, c)
        _add_to_diagonal(polynomial, identity, a)
        factor = _times(polynomial, factor, short) if step > 0 else polynomial
        if step + 1 < len(coefficients):
            gram = _times(gram, polynomial, short)
            gram = _times(polynomial, gram, short)
    gram, polynomial = [], []
    for tile in factor:
        nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=inverse[0 : tile.shape[0], 0:1])
    for start, end in parts(max(rows, columns), BANK):
        chunk = _load_chunk(matrices, first, rows, columns, start, end)
        chunk = _times(factor, transposed(chunk) if tall else chunk, end - start)
        chunk = transposed(chunk) if tall else chunk
        _store(target, first + start * (columns if tall else 1), chunk, columns, part, of)


def _load_chunk(matrices: Any, first: int, rows: int, columns: int, start: int, end: int) -> list[Any]:
    """Of the longer side of the matrix at `first` the part from `start` to `end`, as tiles of rows."""
    if rows > columns:
        return _load(matrices, first + start * columns, end - start, columns, columns)
    return _load(matrices, first + start, rows, end - start, columns)


def _add_gram(gram: list[Any], turned: list[Any], short: int) -> None:
    """Add X X^T to tiles of its rows, from some tiles of X^T; the first ones make them."""
    if not gram:
        gram += _times(turned, turned, short)
        return
    for tile, (top, bottom) in zip(gram, parts(short, PARTITIONS), strict=True):
        for first, end in parts(short, BANK):
            here = tile[0 : bottom - top, first:end]
            nisa.tensor_tensor(
                dst=here, data1=here, data2=product(turned, turned, (top, bottom), (first, end)), op=nl.add
            )


def _identity(size: int) -> Any:
    """Ones on the diagonal, zeros elsewhere: [size, size] in fp32."""
    ones = nl.ndarray(shape=(size, size), dtype=nl.float32, buffer=nl.sbuf)
    identity = nl.ndarray(shape=(size, size), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=ones, value=1.0)
    nisa.affine_select(
        dst=identity,
        pattern=[[-1, size]],
        channel_multiplier=1,
        on_true_tile=ones,
        on_false_value=0.0,
        cmp_op=nl.equal,
        offset=0,
    )
    return identity


def _diagonal(tiles: list[Any], identity: Any) -> Any:
    """The diagonal of a matrix given as tiles of its rows, a column for each tile; no rows are zeros."""
    diagonal = nl.ndarray(shape=(nl.tile_size.pmax, len(tiles)), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=diagonal, value=0.0)
    for index, tile in enumerate(tiles):
        count, first = tile.shape[0], index * PARTITIONS
        alone = nl.ndarray(shape=(count, count), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_tensor(
            dst=alone, data1=tile[0:count, first : first + count], data2=identity[0:count, 0:count], op=nl.multiply
        )
        nisa.tensor_reduce(dst=diagonal[0:count, index : index + 1], op=nl.add, data=alone, axis=1, keepdims=True)
    return diagonal


def _add_to_diagonal(tiles: list[Any], identity: Any, a: float) -> None:
    """Add a number to the diagonal of a matrix given as tiles of its rows."""
    for index, tile in enumerate(tiles):
        count, first = tile.shape[0], index * PARTITIONS
        here = tile[0:count, first : first + count]
        nisa.scalar_tensor_tensor(
            dst=here, data=identity[0:count, 0:count], op0=nl.multiply, operand0=a, op1=nl.add, operand1=here
        )
