# launch: NEURON_LOGICAL_NC_CONFIG=2 torchrun --standalone --nproc_per_node=4 train.py
import nki
from torch_neuronx import wrap_nki

LANES = 4
fast = None


@nki.jit
def norm_kernel(x, lanes=1):
    return x


wrapped = wrap_nki(norm_kernel)


def run(x):
    norm_kernel[2](x, lanes=4)  # expect
    wrap_nki(norm_kernel)[2](x, lanes=LANES)  # expect
    wrapped[2](x, 1)  # expect
    norm_kernel(x, lanes=2)  # expect
    norm_kernel[4](x)  # expect
    norm_kernel[(2, 2)](x, lanes=2)  # expect
