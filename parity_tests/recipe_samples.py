"""Small configurations of the recipe, for its tests."""

from __future__ import annotations

import dataclasses
from typing import Any

from recipe.config import Config, load_config


def small(**knobs: Any) -> Config:
    """`configs/small.yaml` with some knobs changed."""
    return dataclasses.replace(load_config(["--config", "small"]), **knobs)


def on_cpu(**knobs: Any) -> Config:
    """The same model by torch operators on the CPU, small enough for many runs."""
    plain: dict[str, Any] = {"device": "cpu", "norm": "torch", "rotary": "torch", "mlp": "torch", "loss": "torch"}
    return small(**(plain | {"vocab_size": 64, "width": 32, "mlp_width": 128, "seq_len": 16} | knobs))
