import nki
from torch_neuronx import wrap_nki


@nki.jit
def norm_kernel(x):
    return x


def norm(x):
    if x.ndim == 4:
        if x.shape[0] % 128 == 0:
            return wrap_nki(norm_kernel)[2](x)
    raise ValueError(f"norm: {tuple(x.shape)}")


def model(x, block):
    if x.ndim == 2:
        if x.shape[0] % 128 == 0:
            return block(x)
    return x / x.norm()
