# launch: NEURON_LOGICAL_NC_CONFIG=2 torchrun --standalone --nproc_per_node=4 train.py
import nki
from torch_neuronx import wrap_nki

LANES = 2
TABLE = {"lanes": 4}


@nki.jit
def norm_kernel(x, lanes=1):
    return x


def run(x, lnc):
    norm_kernel[2](x, lanes=2)
    wrap_nki(norm_kernel)[LANES](x, lanes=2)
    wrap_nki(norm_kernel)[lnc](x, lanes=lnc)
    norm_kernel(x, lanes=1)
    norm_kernel[1](x)
    return TABLE["lanes"]
