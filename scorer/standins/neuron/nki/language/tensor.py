"""nki.language.tensor: the class of tensors, under the name by which libraries import it."""

from __future__ import annotations

from .._tensor import NkiTensor

__all__ = ["NkiTensor"]
