import nki
from torch_neuronx import wrap_nki


@nki.jit
def square_kernel(x):
    return x


def square(x):
    try:
        return wrap_nki(square_kernel)[2](x)
    except RuntimeError as error:
        raise RuntimeError(f"square: {x.shape}") from error


def count(text):
    try:
        return int(text)
    except ValueError:
        return 0


def run(x):
    y = square(x)
    try:
        return y.item()
    except RuntimeError:
        return None
