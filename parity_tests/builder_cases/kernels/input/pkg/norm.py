import nki
import nki.language as nl
from nki import jit


@nki.jit
def norm_forward(x):
    return nl.add(x, x)


@jit(debug=True)
def norm_backward(x):
    return nl.add(x, x)


class NkiNorm:
    def __call__(self, x):
        return norm_backward(norm_forward(x))


class TorchNorm:
    def __call__(self, x):
        return x
