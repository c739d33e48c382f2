"""Built from pkg/train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""

from functools import cache


# ==== pkg/train.py ====


def main():
    import_late()

    print(work())


# ==== pkg/late.py ====


@cache
def import_late():
    """What pkg/late.py does when it is first imported."""
    print("late")


def work():
    return 1


# ==== pkg/train.py (continued) ====

if __name__ == "__main__":
    main()
