side = \
    2
depth \
    = side + \
    1


def area \
        (x,
         y=depth):
    return x * \
        y
