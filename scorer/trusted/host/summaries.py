"""Hashes and words for what a model keeps."""

from __future__ import annotations

import hashlib

import torch


def dtype(tensor: torch.Tensor) -> str:
    """A tensor's dtype, e.g. "bfloat16"."""
    return str(tensor.dtype).removeprefix("torch.")


def digest(tensor: torch.Tensor) -> str:
    """Hash of a tensor's bytes."""
    flat = tensor.detach().to("cpu").contiguous().reshape(-1)
    return hashlib.sha256(flat.view(torch.uint8).numpy().tobytes()).hexdigest()[:32]


def summarise(value: object) -> str | None:
    """A comparable summary of a plain value or tensor; None for anything else."""
    if isinstance(value, torch.Tensor):
        return digest(value)
    if plain(value) or (isinstance(value, tuple) and all(map(plain, value))):
        return repr(value)[:200]
    if isinstance(value, dict | list | set):
        return f"{type(value).__name__} of {len(value)}"
    return None


def plain(value: object) -> bool:
    """Whether the printed form of a value says all about it."""
    return isinstance(value, bool | int | float | str | None)


def state(model: torch.nn.Module) -> list[list[str]]:
    """[kind, name, hash] of everything that a model keeps: parameters, buffers, tensors and plain values on it."""
    kept = model.state_dict().keys()
    tensors: list[tuple[str, str, torch.Tensor]] = [("buffer", *pair) for pair in model.named_buffers()]
    tensors += [("parameter", *pair) for pair in model.named_parameters()]
    entries = [
        [kind if name in kept or kind == "parameter" else "transient buffer", name, digest(tensor)]
        for kind, name, tensor in tensors
    ]
    for name, module in model.named_modules():
        for attribute, value in sorted(vars(module).items()):
            if attribute.startswith("_") or attribute == "training":
                continue
            if (summary := summarise(value)) is not None:
                entries.append(["attribute", f"{name}.{attribute}" if name else attribute, summary])
    return entries
