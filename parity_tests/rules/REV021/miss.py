def a(x):
    try:
        return kernel(x)
    except Exception as error:
        print("kernel failed", x.shape)
        raise RuntimeError("kernel failed") from error


def b(x):
    try:
        return int(x)
    except (ValueError, TypeError):
        return 0


def c(x):
    try:
        return x()
    except x.Exception_:
        return None
    except BaseException:
        if x:
            raise
        else:
            raise ValueError from None
