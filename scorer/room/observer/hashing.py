"""Hashes and signatures of tensors."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
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


def specialization(args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """What a compiler makes a program of its own for: the arrays' dtypes and shapes, and the plain values themselves.

    "bfloat16[64,64] float32[64] eps=1e-06"
    """
    words = []
    for label, value in [*(("", value) for value in args), *((f"{name}=", value) for name, value in kwargs.items())]:
        if isinstance(value, bool | int | float | str):
            words.append(f"{label}{value!r}")
        elif told := signature([value]):
            words.append(f"{label}{told}")
    return " ".join(words)


def signature(values: Any) -> str:
    """Dtypes and shapes of the arrays among `values`, in order: "bfloat16[64,64] float32[64]"."""
    words: list[str] = []
    for value in values:
        if isinstance(value, list | tuple):
            words += [signature(value)] if value else []
        elif hasattr(value, "shape") and hasattr(value, "dtype"):
            words.append(f"{dtype_name(value.dtype)}[{','.join(map(str, value.shape))}]")
    return " ".join(word for word in words if word)
