from . import lib

x = "train.x"
y = ["train.y"]


def f(x=lib.x, *, y=lib.y):
    return x, y


def comprehensions():
    return [x for x in lib.x[:2]], {x: lib.x for x in "a"}, {lib.y for y in "ab"}, list(y for y in lib.y[-1:] if y != lib.x)


def walrus():
    if (x := lib.x) and [y := lib.y for _ in "a"]:
        return x, y


def matching(value):
    match value:
        case {"x": x, **rest}:
            return x, rest, lib.rest, lib.x
        case [x, *rest] | (x, *rest):
            return x, rest, lib.rest
        case str() as x:
            return x, lib.x
        case _:
            return lib.rest


def failing():
    try:
        raise ValueError("v")
    except ValueError as error:
        return str(error), lib.error


def loops():
    for x in [lib.x]:
        pass
    with open("/dev/null") as y:
        name = y.name
    del y
    import json as error

    return x, name, error.__name__, lib.error


def outer():
    x = 1

    def inner():
        nonlocal x
        global y
        x += 1
        y = [lib.y, x]
        return lib.x

    return inner(), x, y


class Holder:
    x = x
    y = [x, lib.x]
    f = f
    both = [lib.y for y in y]

    @lib.deco(lib.x)
    def method(self, y=y):
        return x, y, lib.f()

    def __private(self):
        return lib.f

    def call(self):
        return self.__private()()


nothing = lambda x, f=lib.f: (x, f(), lib.x)


def main():
    print(f(), comprehensions(), walrus())
    print(matching({"x": 1, "z": 2}), matching([1, 2]), matching("s"), matching(0), failing(), loops())
    print(outer(), Holder.x, Holder.y, Holder.both, Holder().method(), Holder().call(), nothing(0))


if __name__ == "__main__":
    main()
