"""Built from pkg/train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""

# pkg/shapes.py:
# Copyright 2024 Somebody
# SPDX-License-Identifier: MIT


# ==== pkg/shapes.py ====

NAMES = {
    "a": "# no comment",
    "b": """
# no comment either


# nor this
""",

    "c": f"{1 + 1} # no",
}
LONG = 1 + \
    2


def area(
    width,
    height,
):
    """The docstring. # stays"""

    x = width*height
    if x:
        return x
    else:
        return 0


# ==== pkg/train.py ====

def main():
    print(area(2, 3), NAMES, LONG)


if __name__ == "__main__":
    main()
