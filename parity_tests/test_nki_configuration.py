"""How a launch is configured: variables of the machine, options of `nki.jit`, annotations, the simulator's entry."""

from __future__ import annotations

import warnings
from typing import Any

import nki
import nki.compiler
import nki.isa as nisa
import nki.isa.constants
import nki.language as nl
import nki.language.buffers
import nki.language.tensor
import nki.simulator
import pytest
import torch
from nki.compiler import AddressRotation, CompileConfig, SpecializationConfig

from parity_tests.nki_program import numbers

X = numbers(4, 6)
VARIABLES = ("NEURON_PLATFORM_TARGET_OVERRIDE", "NEURON_LOGICAL_NC_CONFIG", "NKI_SIMULATOR", "NKI_STAND_IN_VERSION")


@pytest.fixture(autouse=True)
def _unset(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


def cores_of(x: Any) -> Any:
    """[1, 1]: on how many cores it runs."""
    out = nl.ndarray((1, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    count = nl.ndarray((1, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=count, value=float(nl.num_programs(0)))
    assert (nl.program_ndim(), nl.program_id(0) < nl.num_programs(0)) == (1, True)
    if nl.program_id(0) == 0:
        nisa.dma_copy(dst=out, src=count)
    return out


KERNEL = nki.jit(cores_of)


@pytest.mark.parametrize("target", ["trn2", "gen3", ""])
def test_the_target_is_trn2(monkeypatch: pytest.MonkeyPatch, target: str) -> None:
    monkeypatch.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", target)
    assert KERNEL(X)[0, 0] == 1.0
    for other in ("trn1", "inf2", "gen2", "trn3", "gen4", "7"):
        monkeypatch.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", other)
        with pytest.raises(nki.NkiValidationError, match=f"NEURON_PLATFORM_TARGET_OVERRIDE={other}: this stand-in"):
            KERNEL(X)


# (configured, launched for, version asked for) -> cores; None: refused
LNC: dict[tuple[str | None, int | None, str], int | None] = {
    (None, None, ""): 1,
    (None, 2, ""): 2,
    ("1", None, ""): 1,
    ("1", 1, ""): 1,
    ("1", 2, ""): None,
    ("2", None, ""): None,
    ("2", 1, ""): None,
    ("2", 2, ""): 2,
    ("2", None, "0.7"): 2,
    ("2", None, "0.6"): None,
    ("2", 1, "0.7"): None,
}


@pytest.mark.parametrize("case", LNC)
def test_kernel_and_machine_agree_on_the_number_of_cores(
    monkeypatch: pytest.MonkeyPatch, case: tuple[str | None, int | None, str]
) -> None:
    configured, lnc, version = case
    monkeypatch.setenv("NKI_STAND_IN_VERSION", version)
    if configured is not None:
        monkeypatch.setenv("NEURON_LOGICAL_NC_CONFIG", configured)
    kernel = KERNEL if lnc is None else KERNEL[lnc]
    if LNC[case] is None:
        with pytest.raises(nki.NkiValidationError, match="NCC_EVRF066"):
            kernel(X)
    else:
        assert kernel(X)[0, 0] == LNC[case]


def test_a_machine_has_one_or_two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEURON_LOGICAL_NC_CONFIG", "3")
    with pytest.raises(nki.NkiValidationError, match="has 1 or 2 cores"):
        KERNEL(X)


def test_the_simulators_entries_run_kernels_and_plain_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NKI_SIMULATOR", "1")
    for function in (KERNEL, cores_of):
        assert nki.simulate(function)(X)[0, 0] == 1.0
        assert nki.simulator.simulate_kernel(function, [X], {}, 2)[0, 0] == 2.0
        assert nki.simulator.simulate_kernel(function, (), {"x": torch.from_numpy(X)}, 1).tolist() == [[1.0]]
    assert nki.simulate(KERNEL[2])(X)[0, 0] == 2.0


def test_kernel_methods_return_configured_kernels_and_keep_the_rest() -> None:
    kernel = nki.jit(cores_of)[2]
    assert kernel.compile_config is None
    rotated = kernel.enable_address_rotation().enable_core_barrier_checker()
    assert rotated.compile_config == CompileConfig(address_rotation=AddressRotation.ENABLE, barrier_check=True)
    still = rotated.disable_address_rotation().disable_core_barrier_checker()
    assert still.compile_config == CompileConfig(address_rotation=AddressRotation.DISABLE)
    scheduled = rotated.with_schedule([("b", "a"), ("c", ["a", "b"])])
    assert scheduled.schedule == (("b", ("a",)), ("c", ("a", "b")))
    assert scheduled.compile_config == rotated.compile_config
    assert (scheduled.lnc, scheduled(X)[0, 0]) == (2, 2.0)
    assert len({kernel, nki.jit(cores_of)[2], rotated, still, scheduled}) == 4


@pytest.mark.parametrize("edge", [["b", "a"], ("b",), (1, "a"), ("b", ("a",)), ("b", [1])])
def test_a_schedule_is_made_of_names(edge: Any) -> None:
    with pytest.raises(TypeError, match=r"an edge is a pair|the second of an edge"):
        KERNEL.with_schedule([edge])


def test_jit_takes_configurations_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    configured = nki.jit(compile_config=CompileConfig(nki_alloc_fallback=False), mode="torch")(cores_of)
    assert (configured.compile_config.nki_alloc_fallback, CompileConfig().nki_alloc_fallback) == (False, True)
    assert configured(X)[0, 0] == 1.0
    assert nki.jit(cores_of, specialization_config=SpecializationConfig()).specialization_config is not None
    with pytest.raises(nki.NkiValidationError, match=r"expected a nki\.compiler\.CompileConfig"):
        nki.jit(compile_config={"barrier_check": True})
    with pytest.raises(nki.NkiValidationError, match=r"expected a nki\.compiler\.SpecializationConfig"):
        nki.jit(specialization_config=CompileConfig())
    monkeypatch.setenv("NKI_STAND_IN_VERSION", "0.6")
    with pytest.raises(nki.NkiValidationError, match=r"new in NKI 0\.7"):
        nki.jit(compile_config=CompileConfig())


def test_a_kernel_inside_another_one_agrees_with_it() -> None:
    inner = nki.jit(compile_config=CompileConfig(barrier_check=True))(cores_of)

    def outer(x: Any) -> Any:
        return inner(x)

    assert nki.jit(compile_config=CompileConfig(barrier_check=True))(outer)(X)[0, 0] == 1.0
    with pytest.raises(nki.NkiValidationError, match="the kernel outer around it"):
        nki.jit(outer)(X)
    lenient = nki.jit(specialization_config=SpecializationConfig(allow_nested_config_override=True))(outer)
    with pytest.warns(UserWarning, match="which holds"):
        assert lenient(X)[0, 0] == 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nki.jit(lambda x: KERNEL(x))(X)


def test_names_by_which_libraries_of_kernels_import_are_the_same_objects() -> None:
    for name in nki.isa.constants.__all__:
        assert getattr(nki.isa.constants, name) is getattr(nisa, name)
    for name in nki.language.buffers.__all__:
        assert getattr(nki.language.buffers, name) is getattr(nl, name)
    assert nki.language.tensor.NkiTensor is nl.NkiTensor
