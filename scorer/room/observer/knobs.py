"""The resolved configuration, as the program holds it: dataclasses and argparse namespaces in its live frames."""

from __future__ import annotations

import argparse
import dataclasses
import enum
import os
import sys
import threading
from types import FrameType
from typing import Any

from .program import Program


def held(program: Program) -> dict[str, Any]:
    """Fields of every such object in a local variable of the main thread's frames, the outermost frame first.

    A name held twice with different values is told the second time as "Class.field". Values that JSON has no form for
    are left out.
    """
    frame = sys._current_frames().get(threading.main_thread().ident or 0)
    frames: list[FrameType] = []
    while frame is not None:
        if program.relative(frame.f_code.co_filename) is not None:
            frames.append(frame)
        frame = frame.f_back
    found: dict[str, Any] = {}
    seen: set[int] = set()
    for frame in reversed(frames):
        for value in list(frame.f_locals.values()):
            if id(value) in seen or isinstance(value, type):
                continue
            seen.add(id(value))
            for name, field in _fields(value).items():
                plain = _plain(field)
                if plain is _NOT_PLAIN:
                    continue
                if name in found and found[name] != plain:
                    name = f"{type(value).__name__}.{name}"
                found.setdefault(name, plain)
    return found


def _fields(value: Any) -> dict[str, Any]:
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name, None) for field in dataclasses.fields(value)}
    if isinstance(value, argparse.Namespace):
        return vars(value)
    return {}


_NOT_PLAIN = object()


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, os.PathLike):
        return os.fsdecode(value)
    if isinstance(value, list | tuple):
        items = [_plain(item) for item in value]
        return _NOT_PLAIN if _NOT_PLAIN in items else items
    if isinstance(value, dict):
        entries = {str(key): _plain(item) for key, item in value.items()}
        return _NOT_PLAIN if _NOT_PLAIN in entries.values() else entries
    if dataclasses.is_dataclass(value):
        return _plain(_fields(value))
    if type(value).__module__ == "torch":  # a dtype or a device
        return str(value) if type(value).__name__ in ("dtype", "device") else _NOT_PLAIN
    return _NOT_PLAIN
