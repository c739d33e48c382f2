"""A local import is a variable where the function may use it without having come by.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""


# ==== pkg/train.py ====


def guarded(flag):
    if flag:
        norm_local = norm
    return norm_local()


def early():
    try:
        print(norm_local2())
        norm_local2 = norm
    except UnboundLocalError:
        return "unbound"


def inside(flag):
    if flag:
        return [norm() for _ in range(2)], (lambda: norm())()
    return None


def main():
    print(guarded(True), early(), inside(True), inside(False))
    try:
        guarded(False)
    except UnboundLocalError:
        print("unbound")


# ==== pkg/ops.py ====


def norm():
    return 1


# ==== pkg/train.py (continued) ====

if __name__ == "__main__":
    main()
