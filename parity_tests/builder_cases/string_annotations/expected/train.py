"""Built from pkg/train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""


# ==== pkg/a.py ====


class Norm:
    pass


# ==== pkg/b.py ====


class b_Norm:
    pass


# ==== pkg/train.py ====


def f(x: "b_Norm", y: "Norm | None" = None) -> "list[b_Norm]":
    z: "b_Norm" = x
    return [z]


def main():
    print(f(1), len(f.__annotations__), Norm is b_Norm)


if __name__ == "__main__":
    main()
