"""Built from pkg/train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""

from functools import cache


# ==== pkg/model.py ====

STATE = {"width": 1}


def width():
    import_shapes()

    return WIDTH


# ==== pkg/shapes.py ====


@cache
def import_shapes():
    """What pkg/shapes.py does when it is first imported."""
    global WIDTH

    WIDTH = STATE["width"]  # 3 in the package, 1 if it ran first


# ==== pkg/train.py ====


def main():
    STATE["width"] = 3
    print(width())


if __name__ == "__main__":
    main()
