def a(x):
    try:
        return kernel(x)
    except Exception:  # expect
        return reference(x)


def b(x):
    try:
        return kernel(x)
    except:  # expect
        return reference(x)


def c(x):
    try:
        return kernel(x)
    except (ValueError, BaseException) as error:  # expect
        print(error)


def d(x):
    try:
        return kernel(x)
    except Exception as error:  # expect
        if str(error):
            raise
