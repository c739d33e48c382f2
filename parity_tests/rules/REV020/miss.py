import nki

try:
    from torch_neuronx import wrap_nki
except ImportError as error:
    raise RuntimeError("the Neuron SDK is missing; install it") from error
try:
    value = int("1")
except ValueError:
    value = 0
