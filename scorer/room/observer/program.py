"""Which code is the observed program's."""

from __future__ import annotations

import os
import site
import sys
import sysconfig
from types import FrameType, TracebackType
from typing import Any

from .settings import Settings

INDEPENDENT = ("torch", "torch_neuronx", "torch_xla", "libneuronxla", "neuronxcc", "nki", "triton")
STANDARD_LIBRARY = (sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"))


class Program:
    """Tells the program's files from the standard library, installed packages, the kit, the stand-ins and ourselves."""

    def __init__(self, settings: Settings) -> None:
        self.root = settings.root.rstrip("/") + "/"
        packages = [*site.getsitepackages(), site.getusersitepackages(), sys.prefix, sys.exec_prefix]
        installed = _directories(*STANDARD_LIBRARY, *packages)
        # A program below the interpreter's own prefix (/usr/local/src, say) is a program all the same.
        self._installed = tuple(place for place in installed if not self.root.startswith(place))
        self._not_program = (*_directories(*settings.not_program), *self._installed)
        sdk = [f"{place}/{name}" for place in site.getsitepackages() for name in INDEPENDENT]
        self._independent = _directories(*settings.not_program, *sdk)
        self._relative: dict[str, str | None] = {}

    def relative(self, filename: str) -> str | None:
        """The file's path relative to the program's root, with forward slashes; None when it is not the program's."""
        try:
            return self._relative[filename]
        except KeyError:
            full = filename if filename.startswith(("/", "<")) else os.path.abspath(filename)  # noqa: PTH100
            ours = full.startswith(self.root) and not full.startswith(self._not_program)
            self._relative[filename] = full[len(self.root) :] if ours else None
            return self._relative[filename]

    def site(self, frame: FrameType | None) -> dict[str, Any] | None:
        """The innermost line of the program at or above `frame`."""
        own = self.frame(frame)
        if own is None:
            return None
        return {"file": self.relative(own.f_code.co_filename), "line": own.f_lineno}

    def frame(self, frame: FrameType | None) -> FrameType | None:
        """The innermost frame of the program at or above `frame`."""
        while frame is not None and self.relative(frame.f_code.co_filename) is None:
            frame = frame.f_back
        return frame

    def blame(self, frame: FrameType | None) -> dict[str, Any] | None:
        """The innermost line of the program, unless something in between acted on its own account.

        That is torch, the Neuron SDK or the kit (they compile, cache and connect as they see fit), or a module that is
        being imported.
        """
        while frame is not None:
            filename = frame.f_code.co_filename
            name = self.relative(filename)
            if name is not None:
                return {"file": name, "line": frame.f_lineno}
            if filename.startswith(("<frozen importlib", *self._independent)):
                return None
            frame = frame.f_back
        return None

    def site_of_error(self, traceback: TracebackType | None) -> dict[str, Any] | None:
        """The innermost line of the program in a traceback."""
        found = None
        while traceback is not None:
            name = self.relative(traceback.tb_frame.f_code.co_filename)
            if name is not None:
                found = {"file": name, "line": traceback.tb_lineno}
            traceback = traceback.tb_next
        return found

    def is_installed(self, filename: str) -> bool:
        """Whether a file belongs to the interpreter or its installed packages."""
        return filename.startswith(self._installed)


def _directories(*names: str) -> tuple[str, ...]:
    """Each directory as given and with links resolved, ending in a slash, so that prefixes match whole names."""
    return tuple({form.rstrip("/") + "/" for name in names for form in (name, os.path.realpath(name))})
