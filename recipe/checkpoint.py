"""The checkpoint: one file of plain values and CPU tensors that `torch.load(weights_only=True)` reads."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import torch

from recipe.config import Config
from recipe.model import GPT, activation_dtype, make_model
from recipe.ranks import register_device
from recipe.rounding import round_parameters

CHECKPOINT = Path("out") / "final.pt"
WRAPPERS = ("module.", "_orig_mod.")  # prefixes that DDP and torch.compile put before parameter names


class CheckpointError(ValueError):
    """A checkpoint that cannot be used. The message names the file, what was expected, what was found, what to do."""


def model_config(config: Config) -> dict[str, int | float | str]:
    """What the parameters' shapes and the forward pass depend on."""
    found: dict[str, int | float | str] = {
        "vocab_size": config.vocab_size,
        "depth": config.depth,
        "width": config.width,
        "heads": config.heads,
        "mlp_width": config.mlp_width,
        "rotary_base": config.rotary_base,
        "norm_eps": config.norm_eps,
        "logit_softcap": config.logit_softcap,
        "attention_window": config.attention_window,
    }
    if not config.one_window:
        found["window_pattern"] = config.window_pattern
    if config.attention_every > 1:
        found["attention_every"] = config.attention_every
    if config.future_tokens > 0:
        found["future_tokens"] = config.future_tokens
    if config.bigram_rows > 0:
        found["bigram_rows"] = config.bigram_rows
        found["bigram_width"] = config.bigram_width
    if config.experts > 0:
        found["experts"] = config.experts
        found["experts_per_token"] = config.experts_per_token
        found["expert_width"] = config.expert_width
    if config.ngram != "none":
        found["ngram_orders"] = config.ngram_orders
        found["ngram_slots"] = config.ngram_slots
        found["ngram_followers"] = config.ngram_followers
    return found


def save_checkpoint(model: GPT, config: Config, meta: dict[str, int | float], rank: int = 0) -> None:
    """Write `out/final.pt`: beside it first, then renamed into place, so that half a checkpoint never has that name.

    `rank`: the one that writes; several may write the same at once.
    """
    state = {strip(name): tensor.detach().cpu().clone() for name, tensor in model.state_dict().items()}
    CHECKPOINT.parent.mkdir(parents=True, exist_ok=True)
    partial = CHECKPOINT.with_suffix(f".{rank}.partial")
    torch.save({"model_state": state, "model_config": model_config(config), "meta": meta}, partial)
    partial.replace(CHECKPOINT)


def strip(name: str) -> str:
    """A parameter's name without the prefixes of wrappers."""
    for wrapper in WRAPPERS:
        name = name.removeprefix(wrapper)
    return name


def load_model(checkpoint_path: str, device: str | torch.device, config: Config) -> GPT:
    """The whole model of a checkpoint, in eval mode on `device`; every parameter is there and none is left over."""
    register_device(config)
    device = torch.device(device)
    checkpoint = _read(checkpoint_path)
    expected = model_config(config)
    for name, value in expected.items():
        found = checkpoint["model_config"].get(name)
        if found != value:
            raise CheckpointError(
                f"{checkpoint_path}: model_config has {name} = {found!r}, this program was made for {value!r}: "
                "load it with the program that wrote it"
            )
    model = make_model(config, activation_dtype(config, device))
    try:
        model.load_state_dict({strip(name): tensor for name, tensor in checkpoint["model_state"].items()}, strict=True)
    except RuntimeError as error:
        raise CheckpointError(f"{checkpoint_path}: {error}; load it with the program that wrote it") from error
    if config.rounds_parameters:
        round_parameters(config, model)
    model.eval()
    return model.to(device)


def _read(checkpoint_path: str) -> dict[str, Any]:
    try:
        checkpoint = torch.load(checkpoint_path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        # torch's own message advises to switch the safe reader off.
        raise CheckpointError(
            f"{checkpoint_path}: cannot be read: not a file of plain values and tensors; train again to write it"
        ) from error
    except (OSError, RuntimeError, EOFError) as error:
        reason = str(error).partition("\n")[0] or "the file ends too early"
        raise CheckpointError(f"{checkpoint_path}: cannot be read: {reason}; train again to write it") from error
    if not isinstance(checkpoint, dict) or not {"model_state", "model_config", "meta"} <= checkpoint.keys():
        raise CheckpointError(
            f"{checkpoint_path}: expected a dict with model_state, model_config and meta; train again to write one"
        )
    return checkpoint
