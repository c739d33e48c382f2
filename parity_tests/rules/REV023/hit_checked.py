"""What is checked beforehand raises, and something else is computed."""

import nki
from torch_neuronx import wrap_nki


@nki.jit
def norm_kernel(x):
    return x


def check(x):
    if x.shape[0] % 128:
        raise ValueError("rows")


def run(x):
    try:
        check(x)
    except ValueError:  # expect
        return x / x.norm()
    return wrap_nki(norm_kernel)[2](x)
