"""Streams and events. The device runs each operator at once, so that all streams are one and waiting is no wait.

What stays to be observed is here: which stream is the current one, what an event that was never recorded says, and the
time between two events.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from collections.abc import Iterator
from typing import Any

import torch

from .memory import DEVICE_TYPE, INDEX, check_index

_TorchStream: Any = torch.Stream
_TorchEvent: Any = torch.Event
_numbers = itertools.count(1)  # 0 is the default stream
_here = threading.local()


class Stream(_TorchStream):  # type: ignore[misc]  # torch's class is known at run time only
    """A stream of the device."""

    def __new__(cls, device: Any = None, priority: int = 0, *, stream_id: int | None = None) -> Stream:
        """A new stream; `stream_id` names an existing one. `priority` has no effect on what runs at once."""
        if device is not None:
            check_index(torch.device(DEVICE_TYPE, device) if isinstance(device, int) else torch.device(device))
        number = next(_numbers) if stream_id is None else stream_id
        made: Stream = super().__new__(
            cls, stream_id=number, device_index=INDEX, device_type=torch._C._autograd.DeviceType.PrivateUse1.value
        )
        return made

    def synchronize(self) -> None:
        """Wait for the work on this stream."""

    def query(self) -> bool:
        """Whether the work on this stream is done."""
        return True

    def wait_stream(self, stream: Any) -> None:
        """Let work that follows here wait for what is on `stream` now."""

    def wait_event(self, event: Any) -> None:
        """Let work that follows here wait for `event`."""
        event.wait(self)

    def record_event(self, event: Any = None) -> Event:
        """Record `event`, or a new one, behind the work on this stream."""
        recorded: Event = Event() if event is None else event
        recorded.record(self)
        return recorded

    def __enter__(self) -> Stream:
        _stack().append(self)
        return self

    def __exit__(self, *_: object) -> None:
        _stack().pop()


class Event(_TorchEvent):  # type: ignore[misc]  # torch's class is known at run time only
    """A mark in a stream."""

    def __new__(cls, enable_timing: bool = False, blocking: bool = False, **_: Any) -> Event:
        """A new event; only one with `enable_timing` tells times."""
        made: Event = super().__new__(
            cls, device=torch.device(DEVICE_TYPE, INDEX), enable_timing=enable_timing, blocking=blocking
        )
        made._timing, made._at = enable_timing, None
        return made

    _timing: bool
    _at: float | None  # seconds

    def record(self, stream: Any = None) -> None:
        """Mark this moment."""
        self._at = time.perf_counter()

    def wait(self, stream: Any = None) -> None:
        """Let `stream` wait for the event."""

    def query(self) -> bool:
        """Whether the work before the event is done."""
        return True

    def synchronize(self) -> None:
        """Wait for the event."""

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds from this event to `end_event`. RuntimeError unless both keep time and were recorded."""
        if not (self._timing and end_event._timing):
            raise RuntimeError("Both events must be created with argument 'enable_timing=True'.")
        if self._at is None or end_event._at is None:
            raise RuntimeError("Both events must be recorded before calculating elapsed time.")
        return (end_event._at - self._at) * 1000.0


def default_stream(device: Any = None) -> Stream:
    """The stream that operators run on unless another was chosen."""
    return Stream(device, stream_id=0)


def current_stream(device: Any = None) -> Stream:
    """The stream that this thread has chosen, else the default one."""
    stack = _stack()
    return stack[-1] if stack else default_stream(device)


def set_stream(stream: Stream | None) -> None:
    """Choose a stream for this thread; None changes nothing."""
    if stream is not None:
        _stack()[-1:] = [stream]


@contextlib.contextmanager
def stream(stream: Stream | None) -> Iterator[None]:
    """A context in which `stream` is the current one; None changes nothing."""
    with contextlib.nullcontext() if stream is None else stream:
        yield


StreamContext = stream

FUNCTIONS = {
    "Event": Event,
    "Stream": Stream,
    "StreamContext": StreamContext,
    "current_stream": current_stream,
    "default_stream": default_stream,
    "set_stream": set_stream,
    "stream": stream,
}
"""What a program may call, of `torch.neuron` and of `torch_neuronx` alike."""


def _stack() -> list[Stream]:
    found: list[Stream] = _here.__dict__.setdefault("streams", [])
    return found


class _AnyOf(type):
    """The type of a class that stands for a class of torch: its instances are that class's, it makes the device's."""

    theirs: Any
    ours: Any

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, cls.theirs)

    def __call__(cls, device: Any = None, *args: Any, **kwargs: Any) -> Any:
        """One of the device, unless `device` is another one, or the stream is named by its number."""
        elsewhere = device is not None and not isinstance(device, int) and torch.device(device).type != DEVICE_TYPE
        if elsewhere or "device_type" in kwargs:
            return cls.theirs(*([] if device is None else [device]), *args, **kwargs)
        return cls.ours(*args, **kwargs)


def register() -> None:
    """Let ``torch.Stream``, ``torch.Event`` and ``torch.accelerator`` give those of the device.

    A device guard in Python cannot teach torch's own classes to wait, to tell times or to know the current stream.
    """
    torch.Stream = _AnyOf("Stream", (), {"theirs": _TorchStream, "ours": Stream})  # type: ignore[assignment, misc]
    torch.Event = _AnyOf("Event", (), {"theirs": _TorchEvent, "ours": Event})  # type: ignore[assignment, misc]
    torch._C._accelerator_getStream = current_stream  # type: ignore[assignment]
    torch._C._accelerator_setStream = set_stream  # type: ignore[assignment]
