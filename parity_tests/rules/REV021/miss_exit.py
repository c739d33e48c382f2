import os
import sys
import traceback


def a(x):
    try:
        return kernel(x)
    except Exception as error:
        print(error)
        sys.exit(1)


def b(x):
    try:
        return kernel(x)
    except BaseException:
        traceback.print_exc()
        os._exit(1)


def c(x):
    try:
        return kernel(x)
    except Exception as error:
        raise SystemExit(str(error))


def d(x):
    try:
        return kernel(x)
    except Exception as error:
        exit(str(error))
