"""The stand-in for `nki` against Amazon's own simulator, where the Neuron SDK is installed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scorer.room.stand_in import NEURON, stand_ins

ROOT = Path(__file__).parents[1]
KIT = ROOT / "scorer/standins/kit"
Results = dict[str, np.ndarray[Any, Any]]
# Half a unit of the dtype for the one rounding of a result, and as much again for what a table of the other gives.
UNIT = {"float32": 2.0**-12, "bfloat16": 2.0**-7}


def results(directory: Path, *first: Path) -> Results:
    """What the recipe's kernels give in an interpreter with `first` at the front of its path."""
    out = directory / "results.npz"
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(map(str, (*first, KIT, ROOT))),
        "NEURON_PLATFORM_TARGET_OVERRIDE": "trn2",
        "OMP_NUM_THREADS": "1",
    }
    environment.pop("NEURON_LOGICAL_NC_CONFIG", None)
    command = [sys.executable, str(ROOT / "parity_tests/sdk_kernels.py"), str(out)]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    assert run.returncode == 0, run.stderr
    with np.load(out) as found:
        return dict(found)


def apart(found: Results, expected: Results) -> list[str]:
    """What differs, by name: other results, or values that are further apart than their dtype explains."""
    if found.keys() != expected.keys():
        return sorted(found.keys() ^ expected.keys())
    differing = []
    for name, values in expected.items():
        unit = UNIT[name.rpartition(" ")[2]]
        allowed = unit * (np.abs(values) + np.abs(values).max() / 16)
        if found[name].shape != values.shape or not (np.abs(found[name] - values) <= allowed).all():
            differing.append(name)
    return differing


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return results(tmp_path_factory.mktemp("ours"), NEURON)


def test_a_result_that_is_wrong_or_missing_is_told(ours: Results) -> None:
    sources = "".join(path.read_text("utf-8") for path in (ROOT / "recipe/kernels").glob("*.py"))
    kernels = set(re.findall(r"^@nki\.jit\ndef (\w+)", sources, re.M))
    assert {name.partition("[")[0] for name in ours} == kernels
    assert apart(ours, ours) == []
    name = "swiglu_backward[2] bfloat16, result 1, bfloat16"
    assert apart({**ours, name: ours[name] * 1.02}, ours) == [name]
    assert apart({other: values for other, values in ours.items() if other != name}, ours) == [name]


def test_cores_agree(ours: Results) -> None:
    """Two cores give what one gives; sums that they share come in parts, one for each."""
    two = {name.replace("[2]", "[1]"): values for name, values in ours.items() if "[2]" in name}
    one = {name: ours[name] for name in two}
    parts = [name for name in two if two[name].shape != one[name].shape]
    assert len(parts) == 6  # the gradients of three weights, in two dtypes
    assert apart(two, one) == parts
    for name in parts:
        width = min(two[name].shape[-1], one[name].shape[-1])  # rows that one core packs side by side
        for side in (two, one):
            side[name] = side[name].reshape(-1, *side[name].shape[1:-1], width).sum(0)
    assert apart(two, one) == []


def test_the_stand_in_agrees_with_the_sdk(ours: Results, tmp_path: Path) -> None:
    if stand_ins():
        pytest.skip("the Neuron SDK is not installed: there is nothing to compare the stand-in with")
    assert apart(ours, results(tmp_path)) == []
