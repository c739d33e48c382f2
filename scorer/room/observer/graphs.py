"""What torch.compile compiles, told by dynamo's own callbacks once the program has imported it."""

from __future__ import annotations

from typing import Any

from .session import Session

MODULE = "torch._dynamo.callback"


def install(module: Any, session: Session) -> None:
    """Be called before each compilation. `compile_id` is "0/1": the graph, and how often it was compiled before."""

    def started(compilation: Any) -> None:
        trigger = compilation.callback_trigger.name.lower().replace("_", " ")
        session.compiling(f"{compilation.compile_id} ({trigger})")

    module.callback_handler.register_start_callback(started)
