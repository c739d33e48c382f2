"""Random numbers of the device: a generator of its own, the CPU's algorithm, so one seed gives the same numbers on both."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

generator = torch.Generator()
"""The device's default generator; ``torch.manual_seed`` seeds it too."""


def with_device_generator(operator: torch._ops.OpOverload) -> Callable[..., Any]:
    """`operator`, drawing from the device's generator unless the caller passes one."""
    place = next(i for i, a in enumerate(operator._schema.arguments) if a.name == "generator")
    keyword_only = operator._schema.arguments[place].kwarg_only

    def compute(*args: Any, **kwargs: Any) -> Any:
        if keyword_only or len(args) <= place:
            if kwargs.get("generator") is None:
                kwargs["generator"] = generator
        elif args[place] is None:
            args = (*args[:place], generator, *args[place + 1 :])
        return operator(*args, **kwargs)

    return compute


def with_device_state(operator: torch._ops.OpOverload) -> Callable[..., Any]:
    """`operator`, which takes no generator, drawing from the device's one: the CPU's default generator lends its place for the call."""

    def compute(*args: Any, **kwargs: Any) -> Any:
        default = torch.default_generator
        kept = default.get_state()
        default.set_state(generator.get_state())
        try:
            return operator(*args, **kwargs)
        finally:
            generator.set_state(default.get_state())
            default.set_state(kept)

    return compute
