"""Exceptions of the recipe, raised in one module and caught in another, with a clause that matches the right one.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""


# ==== pkg/a.py ====


class Broken(Exception):
    pass


a_Broken = Broken  # another `Broken` is used too


def fail():
    try:
        raise KeyError("inner")
    except KeyError as error:
        raise a_Broken("first") from error


a_fail = fail  # another `fail` is used too


# ==== pkg/b.py ====


class Broken(Exception):
    pass


def fail():
    raise Broken("second")


# ==== pkg/train.py ====


def main():
    for fail_local in (a_fail, fail):
        try:
            fail_local()
        except a_Broken as error:
            print("a", error, repr(error.__cause__))
        except Broken as error:
            print("b", error, repr(error))


if __name__ == "__main__":
    main()
