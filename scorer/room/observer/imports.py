"""Hooks that run right after the program imports torch, nki or the kit, so that the order of imports stays its own."""

from __future__ import annotations

import importlib.abc
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from . import graphs, kernels, kit, torch_hooks
from .session import Session
from .settings import Settings

Hook = Callable[[Any, Session], None]


class Finder(importlib.abc.MetaPathFinder):
    """Lets the other finders find a module, and has its loader call our hook once the module's body has run."""

    def __init__(self, session: Session) -> None:
        self._session = session
        kit_module = session.settings.kit_module
        self._hooks: dict[str, Hook] = {
            "torch": torch_hooks.install,
            "nki": kernels.install,
            graphs.MODULE: graphs.install,
            kit_module: kit.install,
        }

    def hook_imported(self) -> None:
        """Hook the modules that are there already."""
        for name, hook in self._hooks.items():
            if (module := sys.modules.get(name)) is not None:
                hook(module, self._session)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Only the modules that we hook; everything else is none of our business."""
        hook = self._hooks.get(name)
        if hook is None:
            return None
        for finder in sys.meta_path:
            if finder is not self and (spec := finder.find_spec(name, path, target)) is not None:
                if spec.loader is not None:
                    self._attach(spec.loader, hook)
                return spec
        return None

    def _attach(self, loader: Any, hook: Hook) -> None:
        """Shadow the loader's method on the instance: its type and everything else about it stay as they are."""
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            del loader.exec_module
            execute(module)
            hook(module, self._session)

        loader.exec_module = exec_module


def install(settings: Settings, session: Session) -> None:
    """Go first on sys.meta_path; what is imported by now is hooked at once."""
    finder = Finder(session)
    finder.hook_imported()
    sys.meta_path.insert(0, finder)
