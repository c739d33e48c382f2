"""Built from pkg/train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""

import json
import os.path as path
from collections import deque


# ==== pkg/tools.py ====

USED = deque([1])
A, B = 1, 2


def used():
    """Uses a little."""
    return USED[0] + B


def unused():
    return json.dumps(path.join("a", "b"))


class Unused:
    x = unused()


# ==== pkg/train.py ====


def main():
    print(used())


if __name__ == "__main__":
    main()
