import sys

import nki


@nki.jit
def square_kernel(x):
    return x


def square(x):
    try:
        return square_kernel(x)
    except RuntimeError as error:
        print(error)
        sys.exit(1)
