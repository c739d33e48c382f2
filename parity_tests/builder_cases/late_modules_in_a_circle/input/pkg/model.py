def build():
    from .first import one

    return one
