"""Small NKI programs for tests: operands go to SBUF, some instructions run, results come back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np
import pytest

BF16 = np.dtype(ml_dtypes.bfloat16)
FP16 = np.dtype(np.float16)
FP32 = np.dtype(np.float32)
FP8 = np.dtype(ml_dtypes.float8_e4m3)

FLOATS = [FP32, BF16, FP16]
PAIRS = [(FP32, FP32), (BF16, BF16), (FP16, FP16), (BF16, FP32), (FP32, BF16)]  # source, destination
ARITHMETIC = {
    name: getattr(np, name)
    for name in (
        *("add", "subtract", "multiply", "maximum", "minimum", "equal", "not_equal", "greater", "greater_equal"),
        *("less", "less_equal", "logical_and", "logical_or", "logical_xor"),
    )
}

Output = tuple[tuple[int, ...], Any]


def on_chip(body: Callable[..., Any], *inputs: np.ndarray, outputs: list[Output], lnc: int = 1) -> list[np.ndarray]:
    """Loads each input into an SBUF tile, calls `body(*output tiles, *input tiles)`, returns the outputs."""

    @nki.jit
    def program(*arrays: Any) -> Any:
        tiles = []
        for array in arrays:
            tile = nl.ndarray(array.shape, dtype=array.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=tile, src=array)
            tiles.append(tile)
        results = [nl.ndarray(shape, dtype=dtype, buffer=nl.sbuf) for shape, dtype in outputs]
        body(*results, *tiles)
        stored = []
        for result in results:
            out = nl.ndarray(result.shape, dtype=result.dtype, buffer=nl.shared_hbm)
            nisa.dma_copy(dst=out, src=result)
            stored.append(out)
        return tuple(stored)

    return list(program[lnc](*inputs))


def run(body: Callable[[], Any]) -> None:
    """Runs `body` inside a kernel, for its checks; the kernel is named `probe`."""

    def probe(x: Any) -> Any:
        body()
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        nisa.dma_copy(dst=out, src=x)
        return out

    nki.jit(probe)(np.zeros((1, 1), np.float32))


def tile(*shape: int, dtype: Any = nl.float32, buffer: Any = nl.sbuf, value: float = 1.0) -> Any:
    """A tile filled with `value`; inside a kernel only."""
    made = nl.ndarray(shape, dtype=dtype, buffer=buffer)
    if buffer in (nl.sbuf, nl.psum):
        nisa.memset(dst=made, value=value if np.dtype(dtype).kind in "fV" else int(value))
    return made


def product(m: int = 4, n: int = 4, k: int = 4, dtype: Any = nl.float32) -> Any:
    """A PSUM tile [m, n] that a matmul over k ones has written; inside a kernel only."""
    out = nl.ndarray((m, n), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul(dst=out, stationary=tile(k, m, dtype=dtype), moving=tile(k, n, dtype=dtype), accumulate=False)
    return out


def numbers(*shape: int, dtype: Any = FP32, seed: int = 0, low: float = -3.0, high: float = 3.0) -> np.ndarray:
    """Reproducible numbers in [low, high), rounded to `dtype`."""
    return np.random.default_rng(seed).uniform(low, high, shape).astype(np.float32).astype(dtype)


def wide(x: np.ndarray) -> np.ndarray:
    """As the engines see it: fp32."""
    return x.astype(np.float32)


def same_bits(found: np.ndarray, expected: np.ndarray) -> bool:
    """Whether two arrays agree in shape, type and every bit."""
    return (
        found.shape == expected.shape
        and found.dtype == expected.dtype
        and np.ascontiguousarray(found).tobytes() == np.ascontiguousarray(expected).tobytes()
    )


def empty(*shape: int, dtype: Any = nl.float32, buffer: Any = nl.sbuf) -> Any:
    """An undefined tile; inside a kernel only."""
    return nl.ndarray(shape, dtype=dtype, buffer=buffer)


def use(value: Any) -> None:
    """Computes with a tile, which may then hold nothing that was never written; inside a kernel only."""
    nisa.tensor_scalar(dst=empty(*value.shape), data=value, op0=nl.multiply, operand0=1.0)


@dataclass(frozen=True)
class Check:
    """`trips` raises an error that says `message`, `passes` does not."""

    trips: Callable[[], Any]
    message: str
    passes: Callable[[], Any]

    def hold(self) -> None:
        """Runs both inside a kernel."""
        with pytest.raises(nki.NkiValidationError) as caught:
            run(self.trips)
        assert self.message in str(caught.value)
        run(self.passes)
