"""A kernel package's function with something else in its place, where it lacks the name."""

import nki
import nki.language as nl

jit = getattr(nki, "jit", lambda function: function)  # expect
relu = getattr(nl, "relu", abs)  # expect


@jit
def kernel(x):
    return relu(x)
