"""A script, a module beside it, a package beside it, and one of the standard library's names taken by a sibling.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""


# ==== calendar.py ====


def own():
    return "own"


# ==== helpers/numbers.py ====


def twice(x):
    return 2 * x


# ==== helpers/text.py ====

word = "a" * twice(2)


# ==== tools.py ====


def scale(x):
    return twice(x) + 1


# ==== train.py ====


def main():
    print(scale(2), twice(3), word, own())


if __name__ == "__main__":
    main()
