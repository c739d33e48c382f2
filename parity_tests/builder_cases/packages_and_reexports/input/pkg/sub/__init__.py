"""Sub."""

from .deep.ops import norm, scale as rescale
from . import deep

__all__ = ["norm", "rescale"]
HIDDEN = 1
