"""Exceptions of the recipe, raised in one module and caught in another, with a clause that matches the right one."""
from . import a, b


def main():
    for fail in (a.fail, b.fail):
        try:
            fail()
        except a.Broken as error:
            print("a", error, repr(error.__cause__))
        except b.Broken as error:
            print("b", error, repr(error))


if __name__ == "__main__":
    main()
