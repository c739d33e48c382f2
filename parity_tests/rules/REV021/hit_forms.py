import builtins

ERRORS = (ValueError, Exception)
Anything = Exception
errors = (KeyError,)


def a(x):
    try:
        return kernel(x)
    except ERRORS:  # expect
        return None


def b(x):
    try:
        return kernel(x)
    except Anything:  # expect
        return None


def c(x):
    try:
        return kernel(x)
    except builtins.Exception:  # expect
        return None


def d(x):
    try:
        return kernel(x)
    except (*errors, BaseException):  # expect
        return None


def e(x):
    try:
        return kernel(x)
    except* Exception:  # expect
        x = None
    return x


def f(x):
    try:
        return kernel(x)
    except errors + (Exception,):  # expect
        return None


def g(x):
    try:
        return kernel(x)
    except getattr(builtins, "Exception"):  # expect
        return None
