"""Built from pkg/train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""


# ==== pkg/registry.py ====

ORDER = []


def numbered(function):
    ORDER.append(len(ORDER))
    return function


# ==== pkg/train.py ====


@numbered
def first(rank=len(ORDER)):
    return rank


@numbered
def second(rank=len(ORDER), *, scale=ORDER[-1]):
    return rank, scale


def main():
    print(first(), second(), ORDER)


if __name__ == "__main__":
    main()
