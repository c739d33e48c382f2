"""Names that not every NKI from 0.5 to 0.7 has.

The stand-in accepts what any of them has, so that kernels written for one of them run. `NKI_STAND_IN_VERSION` set to
0.5, 0.6 or 0.7 makes it refuse what that version lacks: set it to the version of the machine that a kernel is for.
"""

from __future__ import annotations

import os

from ._errors import refuse

VERSIONS = ("0.5", "0.6", "0.7")
VARIABLE = "NKI_STAND_IN_VERSION"


def since(version: str, what: str, remedy: str, operand: str | None = None) -> None:
    """Refuses `what`, new in NKI `version`, if the stand-in was asked to be an older one; `remedy` says what to do."""
    wanted = os.environ.get(VARIABLE, "")
    if not wanted:
        return
    if wanted not in VERSIONS:
        refuse(f"{VARIABLE}={wanted}; expected one of {', '.join(VERSIONS)}, or leave it unset")
    if wanted < version:
        refuse(f"{what} is new in NKI {version}, and {VARIABLE}={wanted}: {remedy}", operand)
