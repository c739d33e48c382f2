"""The kit's own landmarks: batches from its loader, the boundary of a step, and on a scripted clock an evaluation."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

from .session import Session


def install(module: Any, session: Session) -> None:
    """Wrap the loader and, where the kit has it, the boundary of a step."""
    names = session.settings
    make_dataloader = getattr(module, names.dataloader, None)
    if make_dataloader is not None:

        @functools.wraps(make_dataloader)
        def observed_loader(*args: Any, **kwargs: Any) -> Iterator[Any]:
            for batch in make_dataloader(*args, **kwargs):
                session.batch(batch)
                yield batch

        setattr(module, names.dataloader, observed_loader)

    _follow(module, names.step_boundary, session.boundary)
    if session.clock is not None:
        _follow(module, names.evaluate, session.clock.evaluated)


def _follow(module: Any, name: str, then: Callable[[], None]) -> None:
    """Call `then` after each call of a function of the kit that returned; nothing where the kit lacks it."""
    real = getattr(module, name, None)
    if real is None:
        return

    @functools.wraps(real)
    def followed(*args: Any, **kwargs: Any) -> Any:
        result = real(*args, **kwargs)
        then()
        return result

    setattr(module, name, followed)
