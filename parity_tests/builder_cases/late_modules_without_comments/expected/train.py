"""A module that runs late, in an artifact without comments.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""

from functools import cache


# ==== pkg/train.py ====


def main() -> None:
    import_late()

    print(norm(2))


# ==== pkg/late.py ====


@cache
def import_late():
    """What pkg/late.py does when it is first imported."""
    print("late runs")


def norm(x: float) -> float:
    return -x


# ==== pkg/train.py (continued) ====

if __name__ == "__main__":
    main()
