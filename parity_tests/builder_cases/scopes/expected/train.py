"""Built from pkg/train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""


# ==== pkg/lib.py ====

lib_x = "lib.x"
y = "lib.y"
error = "lib.error"
rest = "lib.rest"


def f():
    return "lib.f"


lib_f = f  # another `f` is used too


def deco(text):
    return lambda function: (lambda *a: f"{text}({function(*a)})")


# ==== pkg/train.py ====

x = "train.x"
train_y = ["train.y"]


def f(x=lib_x, *, y=y):
    return x, y


def comprehensions():
    return [x for x in lib_x[:2]], {x: lib_x for x in "a"}, {y for y_local in "ab"}, list(y for y in y[-1:] if y != lib_x)


def walrus():
    if (x := lib_x) and [y_local2 := y for _ in "a"]:
        return x, y_local2


def matching(value):
    match value:
        case {"x": x, **rest_local}:
            return x, rest_local, rest, lib_x
        case [x, *rest_local] | (x, *rest_local):
            return x, rest_local, rest
        case str() as x:
            return x, lib_x
        case _:
            return rest


def failing():
    try:
        raise ValueError("v")
    except ValueError as error_local:
        return str(error_local), error


def loops():
    for x in [lib_x]:
        pass
    with open("/dev/null") as y:
        name = y.name
    del y
    import json as error_local2

    return x, name, error_local2.__name__, error


def outer():
    x = 1

    def inner():
        nonlocal x
        global train_y
        x += 1
        train_y = [y, x]
        return lib_x

    return inner(), x, train_y


class Holder:
    x = x
    y = [x, lib_x]
    f = f
    both = [y for y_local3 in y]

    @deco(lib_x)
    def method(self, y=y):
        return x, y, lib_f()

    def __private(self):
        return lib_f

    def call(self):
        return self.__private()()


nothing = lambda x, f=lib_f: (x, f(), lib_x)


def main():
    print(f(), comprehensions(), walrus())
    print(matching({"x": 1, "z": 2}), matching([1, 2]), matching("s"), matching(0), failing(), loops())
    print(outer(), Holder.x, Holder.y, Holder.both, Holder().method(), Holder().call(), nothing(0))


if __name__ == "__main__":
    main()
