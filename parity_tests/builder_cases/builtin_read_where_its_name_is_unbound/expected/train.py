"""Built from pkg/train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""


# ==== pkg/ops.py ====

try:
    int("x")
except ValueError as max:
    print(type(max).__name__)


def top(a, b):
    return max(a, b)


# ==== pkg/train.py ====

train_max = 3


def main():
    print(top(1, 2), train_max)


if __name__ == "__main__":
    main()
