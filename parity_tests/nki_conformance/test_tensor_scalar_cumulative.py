"""nki.isa.tensor_scalar_cumulative: an operator with a scalar, then a running reduction."""

from __future__ import annotations

from typing import Any

import nki.isa as nisa
import nki.language as nl
import numpy as np
import pytest

from parity_tests.nki_program import BF16, FP32, Check, empty, numbers, on_chip, same_bits, tile

COMMAND = nisa.reduce_cmd
STEPS = {
    "add": (0.0, lambda x, acc: x + acc),
    "subtract": (0.0, lambda x, acc: x - acc),
    "multiply": (1.0, lambda x, acc: x * acc),
    "maximum": (-np.inf, np.maximum),
    "minimum": (np.inf, np.minimum),
}


def running(x: np.ndarray, op: str, start: Any) -> np.ndarray:
    acc = np.broadcast_to(np.asarray(start, np.float32), (x.shape[0],))
    columns = []
    for column in x.T:
        acc = STEPS[op][1](column, acc).astype(np.float32)
        columns.append(acc)
    return np.stack(columns, axis=1)


@pytest.mark.parametrize("dtype", [FP32, BF16])
@pytest.mark.parametrize("op", STEPS)
def test_runs_over_all_free_elements(op: str, dtype: Any) -> None:
    x, s = numbers(128, 2, 5, dtype=dtype), numbers(128, 1, seed=1, low=0.5, high=1.5)
    (found,) = on_chip(
        lambda out, x, s: nisa.tensor_scalar_cumulative(dst=out, src=x, op0=nl.multiply, op1=getattr(nl, op), imm0=s),
        x,
        s,
        outputs=[((128, 10), dtype)],
    )
    scaled = x.astype(np.float32).reshape(128, 10) * s
    assert same_bits(found, running(scaled, op, STEPS[op][0]).astype(dtype))
    assert not same_bits(found, scaled.astype(dtype))


@pytest.mark.parametrize("op", ["add", "subtract", "maximum"])
def test_chains_over_instructions_and_from_a_given_value(op: str) -> None:
    x, start = numbers(8, 12), numbers(8, 1, seed=1)

    def body(out: Any, loaded: Any, x: Any, start: Any) -> None:
        token = getattr(nl, op)
        call = nisa.tensor_scalar_cumulative
        call(dst=out[:, 0:7], src=x[:, 0:7], op0=nl.add, op1=token, imm0=0.5)
        call(dst=out[:, 7:12], src=x[:, 7:12], op0=nl.add, op1=token, imm0=0.5, reduce_cmd=COMMAND.reduce)
        call(dst=loaded, src=x, op0=nl.add, op1=token, imm0=0.5, imm1=start, reduce_cmd=COMMAND.load_reduce)

    found, loaded = on_chip(body, x, start, outputs=[((8, 12), FP32), ((8, 12), FP32)])
    assert same_bits(found, running(x + np.float32(0.5), op, STEPS[op][0]))
    assert same_bits(loaded, running(x + np.float32(0.5), op, start[:, 0]))
    assert not same_bits(found, loaded)


def accumulate(**more: Any) -> None:
    nisa.tensor_scalar_cumulative(
        **{"dst": empty(4, 6), "src": tile(4, 6), "op0": nl.add, "op1": nl.add, "imm0": 0.0, **more}
    )


def chain(*ops: Any) -> None:
    accumulate(op1=ops[0])
    accumulate(op1=ops[1], reduce_cmd=COMMAND.reduce)


CHECKS = {
    "reduction": Check(lambda: accumulate(op1=nl.logical_or), "not legal as a reduction", accumulate),
    "bitvec": Check(lambda: accumulate(op0=nl.bitwise_or), "no arithmetic operator", accumulate),
    "int32": Check(
        lambda: accumulate(src=tile(4, 6, dtype=nl.int32)),
        "no 32-bit integers",
        lambda: accumulate(src=tile(4, 6, dtype=nl.int16)),
    ),
    "imm1 without load_reduce": Check(
        lambda: accumulate(imm1=1.0),
        "goes with reduce_cmd=load_reduce",
        lambda: accumulate(imm1=1.0, reduce_cmd=COMMAND.load_reduce),
    ),
    "reduce without a start": Check(lambda: accumulate(reduce_cmd=COMMAND.reduce), "hold nothing", accumulate),
    "another reduction": Check(lambda: chain(nl.add, nl.maximum), "hold a nl.add", lambda: chain(nl.add, nl.add)),
    "idle": Check(lambda: accumulate(reduce_cmd=COMMAND.idle), "expected reset_reduce, reduce", accumulate),
}


@pytest.mark.parametrize("name", CHECKS)
def test_refusals(name: str) -> None:
    CHECKS[name].hold()
