"""Nothing names Muon or Lion, and `__subclasses__()` gives them.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""


# ==== pkg/base.py ====


class Optimizer:
    name = "none"


class Schedule:
    pass


# ==== pkg/optimizers.py ====


class Muon(Optimizer):
    name = "muon"


class Lion(Optimizer):
    name = "lion"


class Linear(Schedule):  # of this class nobody asks
    pass


# ==== pkg/train.py ====


def main():
    print([kind().name for kind in Optimizer.__subclasses__()])


if __name__ == "__main__":
    main()
