TABLE = {}


def register(name):
    def wrap(fn):
        TABLE[name] = fn
        return fn

    return wrap
