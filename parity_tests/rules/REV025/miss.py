import nki
import torch
from torch_neuronx import wrap_nki


@nki.jit
def norm_kernel(x):
    return x


def norm(x):
    return wrap_nki(norm_kernel)[2](x)


def wait(device):
    if device.type == "neuron":
        torch.neuron.synchronize()
