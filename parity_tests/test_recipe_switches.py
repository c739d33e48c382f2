"""A switch that is off leaves nothing in the artifact: of each kernel file only what the configuration names."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from builder.produce import Request, build

ROOT = Path(__file__).parents[1]
SETTINGS = ROOT / "recipe/build.yaml"
KERNELS = set(yaml.safe_load(SETTINGS.read_text(encoding="utf-8"))["kernels"])
MODEL = (ROOT / "recipe/model.py").read_text(encoding="utf-8")
# What each choice puts into the file, beside the kernels: classes of the model and of the kernel's own file.
OFF: dict[str, Any] = {"norm": "torch", "rotary": "torch", "mlp": "torch", "loss": "torch"}
ALL: dict[str, Any] = {
    "attention": "nki",
    "conv": "nki",
    "conv_taps": 3,
    "mlp": "fused",
    "activation": "swiglu",
    "loss": "fused",
}
CHOICES: list[tuple[dict[str, Any], set[str], set[str]]] = [
    (OFF, {"TorchRMSNorm", "TorchReLUSquared", "FusedAttention", "MLP", "GPT"}, set()),
    (
        ALL,
        {"NkiAttention", "NkiCausalConvolution", "NkiFusedGatedMLP", "FusedGatedMLP", "NkiHeadCrossEntropy"},
        {"flash_attention", "causal_convolution", "fused_gated_mlp", "head_cross_entropy", "rms_norm", "rotary_qk_norm"},
    ),
    (
        OFF | {"mlp": "nki", "activation": "swiglu", "conv_taps": 2, "fused_attention": "false"},
        {"NkiSwiGLU", "GatedMLP", "TorchCausalConvolution", "TorchAttention", "TorchSoftcapCrossEntropy"},
        {"swiglu"},
    ),
    (OFF | {"mlp": "fused"}, {"NkiFusedMLP", "FusedMLP", "FusedAttention"}, {"fused_mlp"}),
]
