"""`__all__` in every form that is written down.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""


# ==== pkg/more.py ====

__all__ = ["rotate"]


def rotate():
    return 6


# ==== pkg/ops.py ====

_ops_all__: list[str] = ["norm"] + __all__
_ops_all__ += ["scale"]
_ops_all__.append("attend")
_ops_all__.extend(("mix",))


def norm():
    return 1


def scale():
    return 2


def attend():
    return 3


def mix():
    return 4


print(_ops_all__)


# ==== pkg/train.py ====


def main():
    print(norm(), scale(), rotate(), attend(), mix())
    try:
        print(hidden)
    except NameError:
        print("not exported")


hidden = None
del hidden

if __name__ == "__main__":
    main()
