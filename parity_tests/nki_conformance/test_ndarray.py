"""nl.ndarray with an address: tiles that the kernel places itself, and what overwrites what."""

from __future__ import annotations

from typing import Any

import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np
import pytest

from parity_tests.nki_program import FP32, Check, empty, numbers, on_chip, product, run, same_bits, tile

LIMIT = 212_984


def placed(partition: int, start: int, columns: int = 8, rows: int = 4, **more: Any) -> Any:
    return nl.ndarray((rows, columns), **{"dtype": nl.float32, "address": (partition, start), **more})


def fill(made: Any, value: float = 1.0) -> Any:
    nisa.memset(dst=made, value=value)
    return made


def read(made: Any) -> None:
    nisa.tensor_copy(dst=empty(*made.shape), src=made)


def overwrite(second_start: int, second_partition: int = 0) -> None:
    first = fill(placed(0, 0))
    second = fill(placed(second_partition, second_start))
    read(second)
    read(first)


def in_turns() -> None:
    """Two tiles at one place are right as long as each is written before it is read again."""
    first, second = placed(0, 64), placed(0, 64)
    for made in (first, second, first):
        read(fill(made))


def psum(start: int, columns: int = 512) -> Any:
    return placed(0, start, columns, buffer=nl.psum)


def multiply(made: Any, **more: Any) -> Any:
    nisa.nc_matmul(dst=made, stationary=tile(8, 4), moving=tile(8, made.shape[1]), **more)
    return made


def banks(second_start: int) -> None:
    first = multiply(psum(0))
    multiply(psum(second_start))
    read(first)


CHECKS = {
    "overlap": Check(lambda: overwrite(28), "was overwritten by tile '' of shape (4, 8)", lambda: overwrite(32)),
    "other partitions": Check(lambda: overwrite(0, 0), "was overwritten", lambda: overwrite(0, 32)),
    "writing again": Check(lambda: overwrite(0), "was overwritten", in_turns),
    "one bank": Check(lambda: banks(0), "was overwritten", lambda: banks(2048)),
    "accumulating onto another tile's group": Check(
        lambda: [multiply(psum(0)), multiply(psum(0), accumulate=True)],
        "no matmul has written yet",
        lambda: [multiply(psum(0)), multiply(psum(0))],
    ),
    "start partition": Check(lambda: placed(16, 0), "starts at partition 0, 32, 64 or 96", lambda: placed(32, 0)),
    "too many partitions": Check(lambda: placed(96, 0, rows=33), "ends at 128 at most", lambda: placed(96, 0, rows=32)),
    "beyond SBUF": Check(lambda: placed(0, LIMIT - 28), "at most 212952", lambda: placed(0, LIMIT - 32)),
    "beyond PSUM": Check(lambda: psum(2048 + 4), "starts on one", lambda: psum(7 * 2048)),
    "alignment": Check(lambda: placed(0, 2), "a multiple of the element's 4 bytes", lambda: placed(0, 4)),
    "HBM": Check(lambda: placed(0, 0, buffer=nl.shared_hbm), "only SBUF and PSUM", lambda: placed(0, 0)),
    "no address": Check(
        lambda: nl.ndarray((4, 8), nl.float32, address=5), "expected (first partition", lambda: placed(0, 0)
    ),
    "placed tiles count against SBUF": Check(
        lambda: [placed(0, 0, 26_600), placed(0, 106_400, 26_600), empty(4, 47)],
        "SBUF overflow",
        lambda: [placed(0, 0, 26_600), placed(0, 0, 26_600), empty(4, 26_600)],
    ),
}


@pytest.mark.parametrize("name", CHECKS)
def test_refusals(name: str) -> None:
    CHECKS[name].hold()


def test_a_placed_tile_computes_as_any_other() -> None:
    x = numbers(4, 8)

    def body(out: Any, x: Any) -> None:
        made = placed(0, 512)
        nisa.activation(dst=made, op=nl.square, data=x)
        nisa.tensor_copy(dst=out, src=made)

    (found,) = on_chip(body, x, outputs=[((4, 8), FP32)])
    assert same_bits(found, np.square(x))


def test_dead_tiles_give_their_place_back() -> None:
    def body() -> None:
        for _ in range(3):
            fill(placed(0, 0, 50_000))
        empty(128, 53_000)
        product()

    run(body)


def test_helper_modules_and_annotations_import() -> None:
    import nki.collectives as ncc
    import nki.compiler as compiler
    import nki.tensor as ntensor
    import nki.typing as nt

    @nki.jit(compile_config=compiler.CompileConfig(dead_code_elim=False))
    def kernel(x: nt.tensor[2, 2], y: nt.mutable_tensor, kind: nki.dtype = nl.float32) -> nl.NkiTensor:  # type: ignore[valid-type, misc]
        out = nl.ndarray((2, 2), dtype=kind, buffer=nl.shared_hbm)
        nl.store(out, nl.load(nl.shared_constant(ntensor.identity(2, nl.float32) + ntensor.zeros((2, 2), nl.float32))))
        return out

    found = kernel(np.zeros((2, 2), np.float32), np.zeros((2, 2), np.float32))
    assert same_bits(found, np.eye(2, dtype=np.float32))
    assert ntensor.arange(0, 6, 2, nl.int32).tolist() == [0, 2, 4]
    assert nisa.get_nc_version() >= nisa.nc_version.gen3 > nisa.nc_version.gen2
    with pytest.raises(nki.NkiValidationError, match="collectives are not simulated") as caught:
        run(lambda: ncc.all_reduce([], [], ncc.ReplicaGroup([[0, 1]]), nl.add))
    assert caught.value.instruction == "nki.collectives.all_reduce"
