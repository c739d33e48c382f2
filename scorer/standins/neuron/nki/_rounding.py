"""Stochastic rounding of fp32 to bf16, as `NEURON_RT_STOCHASTIC_ROUNDING_EN=1` asks of a device.

A value between two neighbours goes up with the share of the distance that it has covered. The random bits follow from
`NEURON_RT_STOCHASTIC_ROUNDING_SEED` (0), the launch's number in the process and the core, so a run can be repeated; the
device's generator is another one.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from ._core import Core, running

_generators: WeakKeyDictionary[Core, np.random.Generator] = WeakKeyDictionary()


def stochastic_bfloat16(values: NDArray[np.float32]) -> NDArray[ml_dtypes.bfloat16] | None:
    """`values` rounded stochastically, or None if the running launch rounds to the nearest."""
    core = running()
    if core is None or core.launch.rounding_seed is None:
        return None
    generator = _generators.get(core)
    if generator is None:
        key = [core.launch.rounding_seed, 2 * core.launch.number + core.index]
        generator = _generators[core] = np.random.Generator(np.random.Philox(key=key))
    bits = np.ascontiguousarray(values).view(np.uint32)
    noise = generator.integers(0, 2**16, bits.shape, dtype=np.uint32)
    rounded = ((bits + noise) >> np.uint32(16)).astype(np.uint16).view(ml_dtypes.bfloat16)
    return np.where(np.isnan(values), values.astype(ml_dtypes.bfloat16), rounded)
