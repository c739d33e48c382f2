"""Tensors in and out: the input untouched; dtype and device as asked for; exact and finite logits."""

from __future__ import annotations

from scorer.findings import define
from scorer.trusted.model import PUR006, PUR013
from scorer.trusted.purity.bench import Bench
from scorer.trusted.purity.record import Test
from scorer.trusted.tolerance import UNITS

PUR021 = define(
    "PUR021",
    title="The model does not keep to the device or dtype of the contest",
    why="The scorer names the device, and the contest what is computed on it; something coarser, or somewhere else, is "
    "another model than the one that is ranked.",
    remedy="Put every tensor on the device that the hook is given, and compute there in the contest's dtype.",
)
INPUT = Test("input untouched", PUR013)
EXACT = Test("exact and finite logits", PUR006)
PLACE = Test("device and dtype", PUR021)


def tensors(bench: Bench, wanted: dict[str, str]) -> None:
    """What all passes so far have shown; `wanted` is device -> dtype. Logits that are none have ended the tests."""
    model = bench.model
    if model.changed_input:
        bench.failed(INPUT, "every batch", "forward changed the batch that it was given", None, None)
    else:
        bench.passed(INPUT, "every batch")
    bench.passed(EXACT, "every batch")
    device = model.process.submitted.device
    if model.elsewhere is not None:
        message = f"the logits are on {model.elsewhere}, the model was asked for on {device}"
        bench.failed(PLACE, "device", message, None, None)
    else:
        bench.passed(PLACE, "device")
    if device not in wanted:
        bench.record.not_run(PLACE, "dtype", f"the contest names no dtype for {device}")
        return
    finer = {"float64": 0.0}  # whatever else is not listed is coarser
    coarser = sorted(name for name in model.dtypes if {**UNITS, **finer}.get(name, 1.0) > UNITS[wanted[device]])
    if coarser:
        message = f"the model computes in {', '.join(coarser)} on {device}, the contest in {wanted[device]}"
        bench.failed(PLACE, "dtype", message, None, None)
    else:
        bench.passed(PLACE, "dtype")
