"""The compile backend "neuron": traces with dynamo, counts what it traced, and runs the graph as it stands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._dynamo.backends.registry import register_backend

graphs: list[int] = []
"""Operators in each graph that was traced in this process, in order: its length is the number of compilations."""


def compile_graph(graph: torch.fx.GraphModule, example_inputs: list[torch.Tensor]) -> Callable[..., Any]:
    """What ``torch.compile(backend="neuron")`` calls with each graph."""
    graphs.append(sum(node.op in ("call_function", "call_method", "call_module") for node in graph.graph.nodes))
    return graph.forward


def register() -> None:
    """Make ``torch.compile(backend="neuron")`` known."""
    register_backend(name="neuron")(compile_graph)
