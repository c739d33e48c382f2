"""Built from pkg/train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""

import sys
from functools import cache


# ==== pkg/fast.py ====


@cache
def import_fast():
    """What pkg/fast.py does when it is first imported."""
    print('fast')


# ==== pkg/train.py ====

if sys.maxsize < 0:
    import_fast()


def main():
    print(1)


if __name__ == "__main__":
    main()
