"""Freed memory stays with the process, as it does with the caching allocator of a device.

The hosts of neuron tensors come and go by the megabyte. glibc gives such memory back to the system at once and gets
new pages for the next tensor, cleared one by one: a tenth of a training step. No value depends on it.
"""

from __future__ import annotations

import ctypes

# mallopt(3), malloc.h. The threshold is the largest that glibc takes on 64 bits.
_TRIM_THRESHOLD, _TRIM_BYTES = -1, 2**30
_MMAP_THRESHOLD, _MMAP_BYTES = -3, 32 * 2**20


def keep() -> None:
    """Let glibc keep up to 1 GiB of freed memory; other C libraries have no such setting and are left alone."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_MMAP_THRESHOLD, _MMAP_BYTES)
        mallopt(_TRIM_THRESHOLD, _TRIM_BYTES)
