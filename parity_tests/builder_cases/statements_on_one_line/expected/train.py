"""Built from pkg/train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""


# ==== pkg/a.py ====

X = 1
Y = 2  # two
if X: Z = 3
def f(): return X + Z
V = 6


# ==== pkg/train.py ====


def main(): print(Y, f(), V)


if __name__ == "__main__":
    main()
