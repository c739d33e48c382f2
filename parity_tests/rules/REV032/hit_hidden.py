import sys
from pathlib import Path

import __main__  # expect


class Model:
    pass


def is_main(name):
    return name.endswith("main__")


DEPTH = 8 if is_main(__name__) else 4  # expect
if globals()["__name__"] == "__main__":  # expect
    DEPTH = 9
if Model.__module__ == "__main__":  # expect
    DEPTH = 10
if __spec__ is None:  # expect
    DEPTH = 11
if Path(__file__).name == "train.py":  # expect
    DEPTH = 12
if __file__.endswith("train.py"):  # expect
    DEPTH = 13
if sys.argv[0].endswith("train.py"):  # expect
    DEPTH = 14
if "torchrun" in sys.argv[0]:  # expect
    DEPTH = 15
__name__ == "__main__" and print(DEPTH)  # expect
if not __package__:  # expect
    DEPTH = 16


def main():
    return DEPTH


if __name__ == "__main__":
    main()
else:
    DEPTH = 17  # expect
