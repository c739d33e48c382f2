import os

FAST = os.path.exists("x")
LIMIT = 10
limit = 0


def f(x, step):
    if FAST:
        x = x + 1
    if step > LIMIT:
        x = x + 1
    if limit:
        x = x + 1
    while True:
        x = x + 1
        if x > 3:
            break
    while 1:
        return x


def nothing():
    return
    yield


def either(x):
    if x:
        return 1
    else:
        raise ValueError
