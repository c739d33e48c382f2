"""Parameters in bf16: which ones, while training and in a loaded model alike."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

from recipe.config import Config
from recipe.model import GPT


def dtype_named(name: str) -> torch.dtype:
    """The dtype of a knob: bfloat16 or float32."""
    return torch.bfloat16 if name == "bfloat16" else torch.float32


def round_parameters(config: Config, model: GPT) -> None:
    """Keep the parameters that the configuration names in bf16 from now on."""
    if config.matrix_dtype == "bfloat16":
        _round(model.matrices())
    if config.table_dtype == "bfloat16":
        _round([*model.tables(), *model.head.parameters()])


def _round(parameters: Sequence[nn.Parameter]) -> None:
    for parameter in parameters:
        parameter.data = parameter.data.to(torch.bfloat16)
