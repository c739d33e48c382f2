"""Built from pkg/train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""


# ==== pkg/a.py ====


class Norm:
    pass


a_Norm = Norm  # another `Norm` is used too


# ==== pkg/b.py ====


class Norm:
    pass


# ==== pkg/train.py ====


def f(x: "Norm", y: "a_Norm | None" = None) -> "list[Norm]":
    z: "Norm" = x
    return [z]


def main():
    print(f(1), len(f.__annotations__), a_Norm is Norm)


if __name__ == "__main__":
    main()
