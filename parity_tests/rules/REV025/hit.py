import nki
from torch_neuronx import wrap_nki


@nki.jit
def norm_kernel(x):
    return x


def norm(x):
    return wrap_nki(norm_kernel)[2](x) if x.device.type == "neuron" else x / x.norm()  # expect
