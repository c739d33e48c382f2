import operator


def f():
    return 1


a = f.__globals__["x"]  # expect
b = f.__code__.co_consts  # expect
c = f.__closure__  # expect
d = ().__class__.__base__.__subclasses__()  # expect
try:
    pass
except ValueError as error:
    e = error.__traceback__.tb_frame.f_back  # expect
g = getattr(f, "__glo" + "bals__")  # expect
h = operator.attrgetter("__globals__")(f)  # expect
i = "{0.__globals__}".format(f)  # expect
f.__defaults__ = (1,)  # expect
k = (lambda: 0).__closure__[0].cell_contents  # expect
