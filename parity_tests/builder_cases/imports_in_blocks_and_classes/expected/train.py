"""Built from pkg/train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""

import contextlib


# ==== pkg/ops.py ====

EPS = 1
late = "late"


def norm(x):
    return x + EPS


ops_norm = norm  # for where another `norm` hides it


# ==== pkg/train.py ====

with contextlib.nullcontext():
    scaled = norm

while True:
    eps = EPS

    break


class Layer:
    from math import floor

    norm = ops_norm

    EPS = eps

    def run(self):
        return Layer.norm(self.EPS), self.floor(2.5)


def setup():
    global train_late
    train_late = late


def main():
    setup()
    print(scaled(1), Layer().run(), train_late)


if __name__ == "__main__":
    main()
