from . import mlps, norms  # they enter themselves into the registry
from .attention import CausalSelfAttention
from .mlps import *

__all__ = ["CausalSelfAttention", "MLP", "mlps", "norms"]
