"""The variables of a machine that decide what a launch is.

`NEURON_PLATFORM_TARGET_OVERRIDE` names the target, which can only be Trn2 here. `NEURON_LOGICAL_NC_CONFIG` is the
number of cores of a logical NeuronCore, for which a kernel must be launched: `kernel[2]`. NKI 0.7 launches a kernel
that names no number on that many cores, older ones on one, which leaves half of the hardware idle; so that is refused,
unless the stand-in was asked to be 0.7. `NKI_SIMULATOR` sends launches to the simulator, where they always run here.
"""

from __future__ import annotations

import os

from ._errors import NkiValidationError
from ._versions import VARIABLE

TARGETS = ("trn2", "gen3")
LNC = (1, 2)


def check_target() -> None:
    """Refuses a target that is not Trn2."""
    target = os.environ.get("NEURON_PLATFORM_TARGET_OVERRIDE", "")
    if target and target not in TARGETS:
        raise NkiValidationError(
            f"NEURON_PLATFORM_TARGET_OVERRIDE={target}: this stand-in for NKI computes and checks as Trn2 does; set it "
            f"to {' or '.join(TARGETS)}, or unset it"
        )


def cores(kernel: str, lnc: int | None) -> int:
    """On how many cores a kernel runs that was launched for `lnc` (None: it names no number)."""
    configured = os.environ.get("NEURON_LOGICAL_NC_CONFIG", "")
    wanted = lnc or 1
    if not configured or configured == str(wanted):
        return wanted
    if configured not in map(str, LNC):
        raise NkiValidationError(f"NEURON_LOGICAL_NC_CONFIG={configured}; a logical NeuronCore has 1 or 2 cores")
    if lnc is None and os.environ.get(VARIABLE) == "0.7":
        return int(configured)
    raise NkiValidationError(
        f"{kernel}[{wanted}]: NCC_EVRF066: the kernel is specialised for LNC {wanted}, "
        f"NEURON_LOGICAL_NC_CONFIG={configured}; launch {kernel}[{configured}]"
    )
