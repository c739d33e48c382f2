"""The compile backend "neuron": dynamo traces, the traced graph runs operator by operator on the device.

What a program observes of compiling is here: where a graph breaks, what recompiles, what tracing refuses. No code is
generated, so a compiled function gives the eager function's bits.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from . import kernels, streams


@dataclass(frozen=True)
class CompiledGraph:
    """One graph that was compiled: its number in this process, its name, its operators."""

    graph_id: str
    graph_name: str
    graph_node_count: int


graphs: list[CompiledGraph] = []
"""What was compiled in this process, in order; a recompilation is one more graph."""


def register() -> None:
    """Make ``torch.compile(backend="neuron")`` known.

    To the first ``torch.compile``, not now: importing dynamo takes a second, and a process that only scores needs none.
    """
    torch_compile: Callable[..., Any] = torch.compile

    @functools.wraps(torch_compile)
    def compile(*args: Any, **kwargs: Any) -> Any:
        _register_backend()
        return torch_compile(*args, **kwargs)

    torch.compile = compile


@functools.cache
def _register_backend() -> None:
    from torch._dynamo.backends.registry import register_backend
    from torch._dynamo.eval_frame import skip_code

    register_backend(name="neuron")(compile_graph)
    # Dynamo asks for the stream while it compiles; it is not to compile the answer.
    for function in (streams.current_stream, streams.default_stream, streams.Stream.__new__):
        skip_code(function.__code__)
    kernels.make_traceable()


def compile_graph(
    graph: torch.fx.GraphModule, example_inputs: list[torch.Tensor], *, mode: str | None = None
) -> Callable[..., Any]:
    """Compile one graph. As on the device, ``dynamic=True`` is refused and `mode` changes nothing."""
    if not torch._dynamo.config.assume_static_by_default:
        raise RuntimeError(
            'torch.compile(backend="neuron", dynamic=True): the device compiles for fixed shapes; drop dynamic=True'
        )
    operators = sum(node.op in ("call_function", "call_method", "call_module") for node in graph.graph.nodes)
    graphs.append(CompiledGraph(str(len(graphs)), f"graph_{len(graphs)}", operators))
    torch._dynamo.utils.counters["neuron"]["compiled_graphs"] += 1
    return graph.forward
