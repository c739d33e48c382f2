import recipe.model  # expect
import numpy.linalg
from . import kernels  # expect
from .ops import norm  # expect
from einops import rearrange  # expect
import distutils  # expect


def main():
    try:
        import triton  # expect
    except ImportError:
        raise
