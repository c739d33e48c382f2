"""Built from pkg/train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""


# ==== pkg/ops.py ====

LIMIT = 3
try:
    LIMIT = int("x")
except ValueError as error:
    print("kept", LIMIT)


# ==== pkg/train.py ====

TRAIN_LIMIT = LIMIT

try:
    TRAIN_LIMIT = TRAIN_LIMIT + int("y")
except ValueError as train_error:
    print(train_error.args[0])


def main():
    print(TRAIN_LIMIT)


if __name__ == "__main__":
    main()
