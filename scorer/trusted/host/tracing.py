"""What passes through the modules of a model: where two runs differ first, and the dtypes that it computes in."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any

import torch

from .summaries import dtype

Values = list[tuple[str, torch.Tensor]]
Run = Callable[[], object]


def record(model: torch.nn.Module, shape: Sequence[int], run: Run) -> Values:
    """Each module's inputs and outputs in the order of a run, where their first two axes are the batch's `shape`.

    With each goes the module whose code made it: for an input that is the module around.
    """
    values: Values = []

    def keep(name: str, value: torch.Tensor) -> None:
        if value.dim() >= 3 and list(value.shape[:2]) == list(shape):
            values.append((name, value.detach().to("cpu").clone()))

    _watch(model, keep, run)
    return values


def dtypes(model: torch.nn.Module, run: Run) -> set[str]:
    """Every floating dtype of what goes into a module or comes out of one in a run."""
    found: set[str] = set()

    def see(_: str, value: torch.Tensor) -> None:
        if value.is_floating_point():
            found.add(dtype(value))

    _watch(model, see, run)
    return found


def _watch(model: torch.nn.Module, see: Callable[[str, torch.Tensor], object], run: Run) -> None:
    """Show each module's inputs and outputs in the order of a run, with the module whose code made them."""

    def keep(name: str, found: Any) -> None:
        for value in found if isinstance(found, tuple) else (found,):
            if isinstance(value, torch.Tensor):
                see(name, value)

    def before(name: str) -> Callable[..., None]:
        return lambda _module, arguments: keep(name.rpartition(".")[0], arguments)

    def after(name: str) -> Callable[..., None]:
        return lambda _module, _arguments, output: keep(name, output)

    handles = []
    for name, module in model.named_modules():
        handles += [module.register_forward_pre_hook(before(name)), module.register_forward_hook(after(name))]
    try:
        run()
    finally:
        for handle in handles:
            handle.remove()


def first_difference(
    first: Values, second: Values, pairs: Sequence[Sequence[int]], upto: int, relative: float
) -> str | None:
    """The module whose output differs first, or, where an input differs before that, the module around it.

    Row `pairs[i][0]` of the one run is compared with row `pairs[i][1]` of the other, positions below `upto` only.
    """
    left, right = ([pair[side] for pair in pairs] for side in (0, 1))
    for (name, before), (other_name, after) in zip(first, second, strict=False):
        if name != other_name:
            return name
        here, there = before[left, :upto].float(), after[right, :upto].float()
        if here.shape != there.shape:
            continue
        scale = float(here.abs().max()) or 1.0
        if not float((here - there).abs().max()) <= relative * scale:
            return name
    return None


def line_of(function: object, train_py: str) -> int | None:
    """Line of a function's definition, where that is in train.py."""
    code = getattr(inspect.unwrap(function) if callable(function) else function, "__code__", None)
    return code.co_firstlineno if isinstance(code, CodeType) and code.co_filename == train_py else None


def enclosing_line(model: torch.nn.Module, name: str, train_py: str) -> int | None:
    """Line of the forward of a module, or of the nearest one around it that the submission defines."""
    while True:
        line = line_of(type(model.get_submodule(name)).forward, train_py)
        if line is not None or not name:
            return line
        name = name.rpartition(".")[0]
