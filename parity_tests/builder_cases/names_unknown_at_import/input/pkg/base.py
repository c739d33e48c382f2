import os


class Element:
    pass


class Meta(type):
    pass


first = Element()
if os.sep == "/":
    second = Element()
all_of_them = [v for v in vars().values() if isinstance(v, Element)]
del first
none_of_them = [v for v in vars().values() if isinstance(v, Element)]
not_of_ours = [v for v in vars().values() if isinstance(v, int)]


def add() -> None:
    global third
    third = Element()


if "second" in globals():
    print("two")
if "third" not in globals():
    add()
if "__spec__" in globals():
    print("imported")
if "sub" in globals():
    print("a variable")
