"""The author's own evaluation, for development runs: never part of a submission."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any

import prepare
import torch
from torch import nn

from recipe.checkpoint import CHECKPOINT, load_model
from recipe.config import Config


def evaluate(config: Config, model: nn.Module, device: torch.device) -> dict[str, Any]:
    """The kit's evaluation of a model, at this configuration's own settings, on the token set of world size 1."""
    with alone():
        result: dict[str, Any] = prepare.evaluate_bpb(
            model,
            prepare.ensure_tokenizer(),
            batch_size=config.eval_batch_size,
            seq_len=config.eval_seq_len,
            device=device,
            split=config.eval_split,
            max_tokens=config.eval_tokens,
        )
    return result


def report(config: Config, model: nn.Module) -> None:
    """Continue the summary: the model as it stands in memory, and as its checkpoint gives it back."""
    device = torch.device(config.device)
    memory = evaluate(config, model, device)
    checkpoint = evaluate(config, load_model(str(CHECKPOINT), device, config), device)
    print(f"eval_split: {config.eval_split}")
    print(f"eval_seq_len: {config.eval_seq_len}")
    print(f"eval_batch_size: {config.eval_batch_size}")
    print(f"eval_tokens: {checkpoint['num_tokens']}")
    print(f"eval_bytes: {checkpoint['num_bytes']}")
    print(f"memory_total_nats: {memory['total_nats']!r}")
    print(f"memory_val_bpb: {memory['val_bpb']!r}")
    print(f"checkpoint_total_nats: {checkpoint['total_nats']!r}")
    print(f"public_val_bpb: {checkpoint['val_bpb']!r}")


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """Hide the launcher's variables, so that the kit takes this process for the only one; the group is gone by now."""
    hidden = {name: os.environ.pop(name) for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE") if name in os.environ}
    try:
        yield
    finally:
        os.environ.update(hidden)
