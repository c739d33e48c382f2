"""nki.language.buffers: the memories that a tensor can lie in, under the name by which libraries import them."""

from __future__ import annotations

from .._language_tensors import is_hbm, is_on_chip, is_psum, is_sbuf, private_hbm, psum, sbuf, shared_hbm
from .._storage import Buffer as MemoryRegion

__all__ = [
    "MemoryRegion",
    "hbm",
    "is_hbm",
    "is_on_chip",
    "is_psum",
    "is_sbuf",
    "private_hbm",
    "psum",
    "sbuf",
    "shared_hbm",
]

hbm = private_hbm
