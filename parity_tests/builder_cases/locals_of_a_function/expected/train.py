"""`locals()` in a function shows the names that the source has: none of them is renamed.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""


# ==== pkg/ops.py ====


def norm(x):
    return 10 * x


ops_norm = norm  # for where another `norm` hides it


# ==== pkg/train.py ====


def show(norm, *, eps=1):
    total = norm + eps
    return dict(locals())


def main():
    norm = 2
    print(sorted(locals().items()), ops_norm(3), show(norm))


if __name__ == "__main__":
    main()
