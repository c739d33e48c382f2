"""The kit's own landmarks: batches from its loader, the boundary of a step, evaluations."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from typing import Any

from . import dealt
from .session import Session


def install(module: Any, session: Session) -> None:
    """Wrap the loader, the evaluation and, where the kit has it, the boundary of a step."""
    names = session.settings
    make_dataloader = getattr(module, names.dataloader, None)
    if make_dataloader is not None:
        deal = make_dataloader if names.deal_as is None else dealt.loader(make_dataloader, names.deal_as)

        @functools.wraps(make_dataloader)
        def observed_loader(*args: Any, **kwargs: Any) -> Iterator[Any]:
            session.fetching()
            for batch in deal(*args, **kwargs):
                session.batch(batch)
                yield batch
                session.fetching()

        setattr(module, names.dataloader, observed_loader)

    def boundary(real: Callable[[], Any]) -> Any:
        result = real()
        session.boundary()
        return result

    def evaluated(real: Callable[[], Any]) -> Any:
        session.journal.event("evaluate", names.evaluate, session.program.site(sys._getframe()))
        with session.spending("evaluation"):
            result = real()
        if session.clock is not None:
            session.clock.evaluated()
        return result

    _follow(module, names.step_boundary, boundary)
    _follow(module, names.evaluate, evaluated)


def _follow(module: Any, name: str, how: Callable[[Callable[[], Any]], Any]) -> None:
    """Have `how` make each call of a function of the kit; nothing where the kit lacks it."""
    real = getattr(module, name, None)
    if real is None:
        return

    @functools.wraps(real)
    def followed(*args: Any, **kwargs: Any) -> Any:
        return how(functools.partial(real, *args, **kwargs))

    setattr(module, name, followed)
