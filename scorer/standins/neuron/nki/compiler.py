"""nki.compiler: configurations of `nki.jit` (NKI 0.7). They concern the compiler alone; nothing here reads them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class AddressRotation:
    """Rotation of SBUF and PSUM addresses over loop iterations."""

    enabled: bool = True


@dataclass(frozen=True)
class CompileConfig:
    """What the compiler does with a kernel."""

    address_rotation: AddressRotation | None = None
    non_ssa_legalization: bool = True
    dead_code_elim: bool = True
    barrier_check: bool = True
    prefetch_auto: bool = False
    nki_alloc_fallback: bool = True


@dataclass(frozen=True)
class SpecializationConfig:
    """How a kernel is specialised for its arguments."""

    allow_nested_config_override: bool = False
