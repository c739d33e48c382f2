import neuronxcc.nki as nki
from torch_neuronx.xla_impl.ops import nki_jit
from torch_neuronx.nki_hop import wrap_nki as wrap


@nki.jit(mode="torchxla")
def square_kernel(x):
    return x


def traced(x):
    return x


cube = nki_jit(traced)
fast = wrap(traced)[2]


def square(x):
    try:
        return square_kernel[2](x)
    except RuntimeError:  # expect
        return x * x


def third(x):
    try:
        return cube(x)
    except RuntimeError:  # expect
        return x * x * x


def fourth(x):
    try:
        return fast(x)
    except RuntimeError:  # expect
        return x * x * x
