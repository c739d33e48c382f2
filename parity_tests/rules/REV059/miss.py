# launch: NEURON_LOGICAL_NC_CONFIG=2 torchrun --standalone --nproc_per_node=4 train.py
import nki
from torch_neuronx import wrap_nki


@nki.jit
def norm_kernel(x, lanes=2):
    return x


def run(x, config, n):
    lnc = config.lnc
    norm_kernel[2](x)
    wrap_nki(norm_kernel)[n](x, lanes=n)
    wrap_nki(norm_kernel)[lnc](x, lanes=config.lnc)
    norm_kernel[(n,)](x, lanes=n)
    return wrap_nki(norm_kernel)[config.lnc](x)
