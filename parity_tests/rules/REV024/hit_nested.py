import nki
from torch_neuronx import wrap_nki


@nki.jit
def norm_kernel(x):
    return x


def norm(x):
    if x.ndim == 4:  # expect
        rows = x.shape[0]
        if rows % 128 == 0 and x.is_contiguous():  # expect
            return wrap_nki(norm_kernel)[2](x)
    return x / x.norm()
