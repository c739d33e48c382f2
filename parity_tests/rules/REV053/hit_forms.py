DEBUG = False
ACCUM = 1
NORM = "rms"


def f(x, step):
    if DEBUG:  # expect
        print(x)
    if not DEBUG:  # expect
        x = x + 1
    if 0 and step:  # expect
        x = x + 1
    if step or True:  # expect
        x = x + 1
    if 1 == 2:  # expect
        x = x + 1
    if ACCUM > 1:  # expect
        x = x / ACCUM
    if NORM == "layer":  # expect
        x = x + 1
    y = x if False else step  # expect
    while 0:  # expect
        x = x + 1
    if not True:  # expect
        x = x + 1
    for _ in range(2):
        continue
        print(x)  # expect
    return y
    print("never")  # expect


def g():
    raise ValueError
    return 1  # expect
