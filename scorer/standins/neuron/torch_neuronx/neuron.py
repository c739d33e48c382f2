"""What ``torch.neuron`` offers: one device per rank, which runs at once, so that waiting for it is no wait."""

from __future__ import annotations

import contextlib
from typing import Any

import torch

from . import accounting, compiler, memory, randomness, streams
from .memory import DEVICE_TYPE


class NeuronModule:
    """The device module ``torch.neuron``; with what `accounting` and `streams` list for it."""

    memory = accounting

    def __init__(self) -> None:
        self.__dict__.update(accounting.FUNCTIONS | streams.FUNCTIONS)

    def is_available(self) -> bool:
        """Whether the device can be used."""
        return True

    def is_initialized(self) -> bool:
        """Whether the device has been set up; importing the package does that."""
        return True

    def init(self) -> None:
        """Set the device up; importing the package has done so."""

    def device_count(self) -> int:
        """Logical cores of the chip."""
        return memory.device_count()

    def current_device(self) -> int:
        """The index of the rank's device, the one that its tensors bear."""
        return memory.INDEX

    def set_device(self, device: Any) -> None:
        """Bind the rank to a core of the chip. Whichever it is, the rank's device bears the index 0."""
        memory.check_index(torch.device(DEVICE_TYPE, device) if isinstance(device, int) else torch.device(device))

    def device(self, device: Any = None) -> contextlib.AbstractContextManager[None]:
        """A context in which `device` is the one in use."""
        return contextlib.nullcontext()

    def get_device_name(self, device: Any = None) -> str:
        """A name that tells the stand-in from hardware."""
        return "neuron stand-in on CPU"

    def synchronize(self, device: Any = None) -> None:
        """Wait until the device is idle."""

    def get_device_properties(self, device: Any = None) -> accounting.DeviceProperties:
        """Name and memory of the device."""
        return accounting.DeviceProperties(self.get_device_name(device), accounting.total_memory())

    def is_bf16_supported(self) -> bool:
        """Whether the device computes in bfloat16."""
        return True

    def get_dynamo_metrics(self) -> list[compiler.CompiledGraph]:
        """The graphs that ``torch.compile`` made for the device, in order; a recompilation is one more."""
        return list(compiler.graphs)

    def reset_dynamo_metrics(self) -> None:
        """Forget those graphs."""
        compiler.graphs.clear()

    def wait_stream(self, stream: Any) -> None:
        """Let the current stream wait for `stream`."""
        streams.current_stream().wait_stream(stream)

    def wait_event(self, event: Any) -> None:
        """Let the current stream wait for `event`."""
        streams.current_stream().wait_event(event)

    def record_event(self, event: Any = None) -> streams.Event:
        """Record `event`, or a new one, on the current stream."""
        return streams.current_stream().record_event(event)

    def query(self) -> bool:
        """Whether the work on the current stream is done."""
        return streams.current_stream().query()

    def manual_seed(self, seed: int) -> None:
        """Seed the device's generator."""
        randomness.default.manual_seed(seed)

    def manual_seed_all(self, seed: int) -> None:
        """Seed the generators of all devices."""
        randomness.default.manual_seed(seed)

    def seed(self) -> None:
        """Seed the device's generator from the operating system."""
        randomness.default.seed()

    def initial_seed(self) -> int:
        """The seed in use."""
        seed: int = randomness.default.initial_seed()
        return seed

    def get_rng_state(self, device: Any = "neuron") -> torch.Tensor:
        """The state of the device's generator, a CPU byte tensor."""
        state: torch.Tensor = randomness.default.get_state()
        return state

    def set_rng_state(self, new_state: torch.Tensor, device: Any = "neuron") -> None:
        """Put the device's generator into `new_state`."""
        randomness.default.set_state(new_state)

    def get_amp_supported_dtype(self) -> list[torch.dtype]:
        """Types that ``torch.autocast("neuron")`` accepts."""
        return [torch.bfloat16, torch.float16]

    def _is_in_bad_fork(self) -> bool:
        return False
