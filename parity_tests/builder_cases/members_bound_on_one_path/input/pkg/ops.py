import sys

scale = 4
width = 5


class Layer:
    if len(sys.path) > 1000:
        scale = 1
    seen = scale
    if len(sys.path) > 1000:
        width = 2
    else:
        width = 3
    both = width
