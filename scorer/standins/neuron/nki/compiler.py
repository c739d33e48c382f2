"""nki.compiler: the configuration that `nki.jit` takes. It is for the compiler; nothing computed here depends on it.

Only that a kernel inside another one is compiled with it is checked: their configurations must agree.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NoReturn

from ._absent import FROM_COMPILER, refuse_absent

__all__ = ["AddressRotation", "CompileConfig", "SpecializationConfig"]


class AddressRotation(Enum):
    """Whether the backend may move a tensor's address: AUTO if the kernel has not fixed it."""

    AUTO = "auto"
    ENABLE = "enable"
    DISABLE = "disable"


@dataclass(frozen=True)
class CompileConfig:
    """Options of the compiler, for one kernel. Source: nki.compiler.CompileConfig.

    `nki_alloc_fallback=False` lets the compiler report that SBUF or PSUM are full, as the stand-in always does, instead
    of allocating in another way; `barrier_check` finds races between cores, which the stand-in always looks for.
    """

    address_rotation: AddressRotation = AddressRotation.AUTO
    non_ssa_legalization: bool = False
    dead_code_elim: bool = False
    barrier_check: bool = False
    prefetch_auto: bool = False
    nki_alloc_fallback: bool = True


@dataclass(frozen=True)
class SpecializationConfig:
    """Options of tracing, for one kernel. Source: nki.compiler.SpecializationConfig.

    `allow_nested_config_override`: a kernel called inside this one may have another configuration; that is a warning
    then, and this kernel's holds.
    """

    allow_nested_config_override: bool = False


def __getattr__(name: str) -> NoReturn:
    refuse_absent("nki.compiler", name, FROM_COMPILER)
