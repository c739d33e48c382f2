from .norm import norm
