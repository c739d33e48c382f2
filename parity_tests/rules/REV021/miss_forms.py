ERRORS = (ValueError, KeyError)


class Exception_(ValueError):
    pass


def a(x):
    try:
        return kernel(x)
    except ERRORS:
        return None


def b(x):
    try:
        return kernel(x)
    except (*ERRORS, Exception_):
        return None
