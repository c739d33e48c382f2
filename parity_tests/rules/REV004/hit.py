import recipe.model  # expect
import numpy.linalg
from . import kernels  # expect
from .ops import norm  # expect
from einops import rearrange  # expect
import binhex  # expect


def main():
    try:
        import triton  # expect
    except ImportError:
        raise
