"""What is launched: `nki.jit`, `Kernel`, `nki.simulate`."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from . import isa, language
from ._core import Launch, running, wants_shapes_only
from ._environment import LNC, check_target, cores
from ._errors import NkiValidationError, from_binding, from_inside, locate, refuse
from ._launch import bind, run
from ._tensor import NkiTensor
from ._versions import since
from .compiler import AddressRotation, CompileConfig, SpecializationConfig

_FUNCTIONS = {
    function.__name__: f"nki.{module}.{name}"
    for module, names in (("language", language), ("isa", isa))
    for name in names.__all__
    if inspect.isfunction(function := getattr(names, name))
}
_FUNCTIONS |= {name: name for method in dir(NkiTensor) if (name := f"NkiTensor.{method}")}
_IGNORED = {"mode", "debug_kernel", "show_compiler_tb"}  # arguments of nki.jit


class Kernel:
    """A function of HBM tensors and compile-time values, made by `nki.jit`.

    Calling it runs it: NumPy arrays in, NumPy arrays out; torch tensors in, torch tensors out. Called while another
    kernel runs, it is a plain function call. `kernel[2]` runs on the two cores of a logical NeuronCore.

    Attributes: `func` (the Python function), `lnc` (1 or 2), `compile_config`, `specialization_config` (None where
    `nki.jit` was given none), `schedule` (see `with_schedule`).
    """

    def __init__(
        self,
        func: Callable[..., Any],
        lnc: int | None = None,
        *,
        compile_config: CompileConfig | None = None,
        specialization_config: SpecializationConfig | None = None,
        schedule: tuple[tuple[str, tuple[str, ...]], ...] = (),
    ) -> None:
        functools.update_wrapper(self, func)
        self.func = func
        self.compile_config = compile_config
        self.specialization_config = specialization_config
        self.schedule = schedule
        self._lnc = lnc

    __name__: str

    @property
    def lnc(self) -> int:
        """Number of cores: 1 unless another one was asked for."""
        return self._lnc or 1

    def __getitem__(self, lnc: int) -> Kernel:
        """The kernel for `lnc` cores, a bare 1 or 2."""
        if type(lnc) is not int or lnc not in LNC:
            raise NkiValidationError(f"{self.__name__}[{lnc!r}]: NKI only supports LNC 1 or 2, a bare 1 or 2")
        return self._but(lnc=lnc)

    def with_schedule(self, edges: Sequence[tuple[str, str | list[str]]]) -> Kernel:
        """The kernel with dependencies between named instructions: (name, the names that it runs after), each.

        Here all instructions run in program order, so the edges are only kept, in `schedule`.
        """
        schedule = []
        for edge in edges:
            if not isinstance(edge, tuple) or len(edge) != 2 or not isinstance(edge[0], str):
                raise TypeError(f"{edge!r}; an edge is a pair of a name and a name or list of names")
            after = [edge[1]] if isinstance(edge[1], str) else edge[1]
            if not isinstance(after, list) or not all(isinstance(name, str) for name in after):
                raise TypeError(f"{edge!r}; the second of an edge is a name or a list of names")
            schedule.append((edge[0], tuple(after)))
        return self._but(schedule=tuple(schedule))

    def enable_address_rotation(self) -> Kernel:
        """The kernel compiled with `AddressRotation.ENABLE`."""
        return self._compiled(address_rotation=AddressRotation.ENABLE)

    def disable_address_rotation(self) -> Kernel:
        """The kernel compiled with `AddressRotation.DISABLE`."""
        return self._compiled(address_rotation=AddressRotation.DISABLE)

    def enable_core_barrier_checker(self) -> Kernel:
        """The kernel compiled with the check for races between cores, which the stand-in always makes."""
        return self._compiled(barrier_check=True)

    def disable_core_barrier_checker(self) -> Kernel:
        """The kernel compiled without that check."""
        return self._compiled(barrier_check=False)

    def _compiled(self, **options: Any) -> Kernel:
        return self._but(compile_config=dataclasses.replace(self.compile_config or CompileConfig(), **options))

    def _but(self, **changes: Any) -> Kernel:
        kept = {
            "lnc": self._lnc,
            "compile_config": self.compile_config,
            "specialization_config": self.specialization_config,
            "schedule": self.schedule,
        }
        return Kernel(self.func, **{**kept, **changes})

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Launches the kernel. Every launch goes through here."""
        core = running()
        if core is not None:
            self._check_nested(core.launch)
            return self.func(*args, **kwargs)
        return self._launch(False, args, kwargs)

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the kernel on arguments that only have the right shapes, for the shapes of its results; no launch.

        `torch.compile` learns them so. Nothing that depends on the numbers in tensors is refused then.
        """
        return self._launch(True, args, kwargs)

    def _launch(self, shapes_only: bool, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        check_target()
        launch = Launch(self.__name__, cores(self.__name__, self._lnc), shapes_only or wants_shapes_only())
        launch.compile_config = self.compile_config
        launch.specialization_config = self.specialization_config
        try:
            arguments = bind(args, kwargs)
            return run(launch, self.func, arguments, args, kwargs)
        except NkiValidationError as error:
            locate(error, error.__traceback__, self.func, launch.failed)
            raise
        except (TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
            found = from_binding(error, error.__traceback__, _FUNCTIONS) if isinstance(error, TypeError) else None
            found = found or from_inside(error, error.__traceback__)
            if found is None:
                raise
            locate(found, error.__traceback__, self.func, launch.failed)
            raise found from error

    def _check_nested(self, launch: Launch) -> None:
        """A kernel called inside another one is compiled with that one's configuration."""
        if self.compile_config is None or self.compile_config == (launch.compile_config or CompileConfig()):
            return
        message = (
            f"kernel {self.__name__} has {self.compile_config}, the kernel {launch.kernel} around it "
            f"{launch.compile_config or CompileConfig()}"
        )
        outer = launch.specialization_config
        if outer is None or not outer.allow_nested_config_override:
            refuse(f"{message}; make them agree, or set allow_nested_config_override in its SpecializationConfig")
        warnings.warn(f"{message}, which holds", stacklevel=3)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Kernel) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def _identity(self) -> tuple[Any, ...]:
        return self.func, self._lnc, self.compile_config, self.specialization_config, self.schedule

    def __repr__(self) -> str:
        return f"<nki kernel {self.__name__}[{self.lnc}]>"


def jit(
    fn: Callable[..., Any] | None = None,
    *,
    compile_config: CompileConfig | None = None,
    specialization_config: SpecializationConfig | None = None,
    **config: Any,
) -> Any:
    """Makes a `Kernel`; use as `@nki.jit` or `@nki.jit(...)`.

    `platform_target` is refused, as NKI does since 0.3, and what changes nothing but messages is ignored, as is `mode`;
    the configurations are NKI 0.7's and concern the compiler only.
    """
    if "platform_target" in config:
        raise NkiValidationError("nki.jit(platform_target=...) was removed; set NEURON_PLATFORM_TARGET_OVERRIDE")
    unknown = set(config) - _IGNORED
    if unknown:
        raise NkiValidationError(f"nki.jit does not know {', '.join(sorted(unknown))}")
    for name, value, kind in (
        ("compile_config", compile_config, CompileConfig),
        ("specialization_config", specialization_config, SpecializationConfig),
    ):
        if value is not None:
            since("0.7", f"nki.jit({name}=)", "leave it out")
            if not isinstance(value, kind):
                raise NkiValidationError(f"nki.jit({name}={value!r}): expected a nki.compiler.{kind.__name__}")

    def decorate(function: Callable[..., Any]) -> Kernel:
        if isinstance(function, Kernel):
            return function
        return Kernel(function, compile_config=compile_config, specialization_config=specialization_config)

    return decorate if fn is None else decorate(fn)


def simulate(kernel: Any) -> Kernel:
    """A callable that runs `kernel` (a `Kernel`, `kernel[2]` or a plain function) on the CPU, as all launches do."""
    return kernel if isinstance(kernel, Kernel) else Kernel(kernel)
