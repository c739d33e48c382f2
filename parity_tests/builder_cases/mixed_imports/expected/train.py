"""One statement imports modules of the recipe and from outside.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""

from functools import cache


# ==== pkg/train.py ====


def main():
    import json
    import_other()
    import os.path

    print(json.dumps(work()), os.path.basename("a/b"))


# ==== pkg/other.py ====


@cache
def import_other():
    """What pkg/other.py does when it is first imported."""
    print("other runs")


def work():
    return 1


# ==== pkg/train.py (continued) ====

if __name__ == "__main__":
    main()
