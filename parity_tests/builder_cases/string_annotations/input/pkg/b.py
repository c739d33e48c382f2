class Norm:
    pass
