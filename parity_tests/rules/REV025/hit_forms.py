import nki
import torch
from torch_neuronx import wrap_nki


@nki.jit
def norm_kernel(x):
    return x


def reference(x):
    return x / x.norm()


class Norm(torch.nn.Module):
    def __init__(self, device):
        super().__init__()
        self.run = norm_kernel if str(device).startswith("neuron") else reference  # expect

    def forward(self, x):
        if x.is_cuda:  # expect
            return reference(x)
        return wrap_nki(norm_kernel)[2](x)

    def second(self, x):
        on_chip = x.device.type != "cpu"
        if on_chip:  # expect
            return wrap_nki(norm_kernel)[2](x)
        return reference(x)

    def third(self, x):
        match x.device.type:  # expect
            case "neuron":
                return norm_kernel(x)
        return reference(x)
