scale = 10


def norm(scale):
    return globals_free(scale=scale)


def globals_free(**scale):
    return scale
