"""The kit's own landmarks: batches from its loader, the boundary of a step, and on a scripted clock an evaluation."""

from __future__ import annotations

import functools
from collections.abc import Iterator
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

    boundary = getattr(module, names.step_boundary, None)
    if boundary is not None:

        @functools.wraps(boundary)
        def observed_boundary(*args: Any, **kwargs: Any) -> Any:
            result = boundary(*args, **kwargs)
            session.boundary()
            return result

        setattr(module, names.step_boundary, observed_boundary)

    evaluate = getattr(module, names.evaluate, None)
    clock = session.clock
    if evaluate is not None and clock is not None:

        @functools.wraps(evaluate)
        def timed_evaluation(*args: Any, **kwargs: Any) -> Any:
            result = evaluate(*args, **kwargs)
            clock.evaluated()
            return result

        setattr(module, names.evaluate, timed_evaluation)
