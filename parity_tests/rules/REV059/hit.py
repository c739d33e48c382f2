# launch: NEURON_LOGICAL_NC_CONFIG=2 torchrun --standalone --nproc_per_node=4 train.py
import nki
from torch_neuronx import wrap_nki


@nki.jit
def norm_kernel(x, lanes):
    return x


class Norm:
    def __init__(self, config):
        self.lnc = config.lnc
        self.kernel = wrap_nki(norm_kernel)

    def run(self, x, config, n, m):
        norm_kernel[2](x, lanes=config.lanes)  # expect
        wrap_nki(norm_kernel)[n](x, lanes=m)  # expect
        wrap_nki(norm_kernel)[self.lnc](x, lanes=config.lanes)  # expect
        self.kernel[config.lnc](x, lanes=2)  # expect
        norm_kernel[n](x, m)  # expect
        norm_kernel(x, lanes=m)  # expect
        norm_kernel[1](x)  # expect
