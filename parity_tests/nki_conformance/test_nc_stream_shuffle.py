"""nki.isa.nc_stream_shuffle: partitions change places within each quadrant of 32."""

from __future__ import annotations

from typing import Any

import nki.isa as nisa
import nki.language as nl
import numpy as np
import pytest

from parity_tests.nki_program import BF16, FP32, Check, empty, numbers, on_chip, run, same_bits, tile, use

REVERSE = [31 - i for i in range(32)]


@pytest.mark.parametrize(("partitions", "dtype"), [(32, FP32), (128, BF16), (64, np.dtype(np.int8))])
def test_every_quadrant_is_shuffled_alike(partitions: int, dtype: Any) -> None:
    x = numbers(partitions, 5, dtype=dtype)
    (found,) = on_chip(
        lambda out, x: nisa.nc_stream_shuffle(dst=out, src=x, shuffle_mask=REVERSE), x, outputs=[(x.shape, dtype)]
    )
    assert same_bits(found, x.reshape(-1, 32, 5)[:, ::-1].reshape(x.shape))
    assert not same_bits(found, x)


def test_255_leaves_a_partition_as_it_was() -> None:
    old, x = numbers(32, 3, seed=1), numbers(32, 3)
    mask = [7 if i % 2 else 255 for i in range(32)]

    def body(out: Any, old: Any, x: Any) -> None:
        nisa.tensor_copy(dst=out, src=old)
        nisa.nc_stream_shuffle(dst=out, src=x, shuffle_mask=mask)

    (found,) = on_chip(body, old, x, outputs=[((32, 3), FP32)])
    assert same_bits(found, np.where(np.arange(32)[:, None] % 2, x[7], old).astype(np.float32))


def test_one_partition_is_copied_to_a_quadrant_and_in_place_works() -> None:
    x = numbers(1, 4)

    def body(out: Any, x: Any) -> None:
        nisa.nc_stream_shuffle(dst=out, src=x, shuffle_mask=[0] * 32)
        nisa.nc_stream_shuffle(dst=out, src=out, shuffle_mask=REVERSE)

    (found,) = on_chip(body, x, outputs=[((32, 4), FP32)])
    assert same_bits(found, np.repeat(x, 32, axis=0))


def shuffle(dst: Any = None, src: Any = None, mask: Any = REVERSE) -> None:
    nisa.nc_stream_shuffle(
        dst=empty(32, 4) if dst is None else dst, src=tile(32, 4) if src is None else src, shuffle_mask=mask
    )


def half_written(partitions: int) -> Any:
    made = empty(32, 4)
    nisa.memset(dst=made[0:partitions], value=1.0)
    return made


def shuffle_and_use(source: Any) -> None:
    made = empty(32, 4)
    shuffle(dst=made, src=source, mask=[7] * 32)
    use(made)


CHECKS = {
    "type": Check(lambda: shuffle(src=tile(32, 4, dtype=nl.bfloat16)), "does not convert", shuffle),
    "elements": Check(lambda: shuffle(dst=empty(32, 5)), "elements per partition", shuffle),
    "mask length": Check(lambda: shuffle(mask=[0] * 31), "32 ints expected", lambda: shuffle(mask=[0] * 32)),
    "mask value": Check(lambda: shuffle(mask=[32] * 32), "names no partition", lambda: shuffle(mask=[255] * 32)),
    "partition beyond src": Check(
        lambda: shuffle(src=tile(8, 4), mask=[8] * 32),
        "partition 8 is read",
        lambda: shuffle(src=tile(8, 4), mask=[7] * 32),
    ),
    "start of 64 active partitions": Check(
        lambda: shuffle(dst=empty(128, 4)[32:96], src=tile(64, 4)),
        "with 64 active partitions one of (0, 64)",
        lambda: shuffle(dst=empty(128, 4)[64:128], src=tile(64, 4)),
    ),
    "unwritten partition": Check(
        lambda: shuffle_and_use(half_written(7)),
        "uninitialised read: 128 of 128",
        lambda: shuffle_and_use(half_written(8)),
    ),
}


@pytest.mark.parametrize("name", CHECKS)
def test_refusals(name: str) -> None:
    CHECKS[name].hold()


def test_a_partition_that_was_left_out_stays_unwritten() -> None:
    def body(read: int) -> None:
        made = empty(32, 4)
        shuffle(dst=made, mask=[0] * 16 + [255] * 16)
        use(made[0:read])

    run(lambda: body(16))
    with pytest.raises(nisa.NkiValidationError, match="uninitialised read"):
        run(lambda: body(17))
