"""Hashes and signatures of tensors."""

from __future__ import annotations

import hashlib
from typing import Any


def tensor_hash(torch: Any, tensor: Any) -> str:
    """128-bit hash over dtype, shape and bytes; reads the tensor back to the host."""
    host = tensor.detach().cpu().contiguous()
    digest = hashlib.blake2b(f"{dtype_name(host.dtype)}{list(host.shape)}".encode(), digest_size=16)
    if host.numel():
        digest.update(host.reshape(-1).view(torch.uint8).numpy())
    return digest.hexdigest()


def dtype_name(dtype: Any) -> str:
    """ "bfloat16" for torch.bfloat16 as for ml_dtypes' and NumPy's."""
    return str(getattr(dtype, "name", dtype)).rpartition(".")[2]


def signature(values: Any) -> str:
    """Dtypes and shapes of the arrays among `values`, in order: "bfloat16[64,64] float32[64]"."""
    words: list[str] = []
    for value in values:
        if isinstance(value, list | tuple):
            words += [signature(value)] if value else []
        elif hasattr(value, "shape") and hasattr(value, "dtype"):
            words.append(f"{dtype_name(value.dtype)}[{','.join(map(str, value.shape))}]")
    return " ".join(word for word in words if word)
