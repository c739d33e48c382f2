"""What torch shows: losses at the entry of autograd, gradients at the optimizer, saves."""

from __future__ import annotations

import functools
import io
import sys
from typing import Any

from .session import Session


def install(torch: Any, session: Session) -> None:
    """Hook autograd, the optimizers, torch.compile and torch.save. `torch` is the module that was just imported."""
    from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

    session.torch = torch
    backward = torch.autograd.backward

    # Tensor.backward comes through here too. Calls from inside a running backward (checkpointing) are not losses.
    @functools.wraps(backward)
    def observed_backward(tensors: Any, *args: Any, **kwargs: Any) -> Any:
        if session.in_backward:
            return backward(tensors, *args, **kwargs)
        session.loss(tensors)
        with session.backward(sys._getframe(1)):
            return backward(tensors, *args, **kwargs)

    torch.autograd.backward = observed_backward

    compile_ = torch.compile

    @functools.wraps(compile_)
    def observed_compile(*args: Any, **kwargs: Any) -> Any:
        session.asked_to_compile()
        return compile_(*args, **kwargs)

    torch.compile = observed_compile

    save = torch.save

    @functools.wraps(save)
    def observed_save(obj: Any, f: Any, *args: Any, **kwargs: Any) -> None:
        session.saving(f)
        with session.spending("save"):
            save(obj, f, *args, **kwargs)
        if session.clock is not None and not isinstance(f, io.BytesIO):
            session.clock.saved()

    torch.save = observed_save

    def before_step(optimizer: Any, _args: Any, _kwargs: Any) -> None:
        session.stepping(optimizer)

    def after_step(optimizer: Any, _args: Any, _kwargs: Any) -> None:
        session.stepped(optimizer)

    session.follow()
    register_optimizer_step_pre_hook(before_step)
    register_optimizer_step_post_hook(after_step)
