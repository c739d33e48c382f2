import nki
import torch
from torch_neuronx import wrap_nki


@nki.jit
def square_kernel(x):
    return x


def square(x):
    try:
        return wrap_nki(square_kernel)[2](x)
    except RuntimeError:  # expect
        return x * x


class Square(torch.nn.Module):
    def forward(self, x):
        try:
            return square(x)
        except (ValueError, RuntimeError) as error:  # expect
            print(error)
        return x * x
