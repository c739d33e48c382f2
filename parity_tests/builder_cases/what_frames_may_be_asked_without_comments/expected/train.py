"""Frames asked for a local by its name, and for places in the code.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""

import sys
import traceback


# ==== pkg/places.py ====

_here: tuple = None
place = ()


class Node:
    def __init__(self, name: str) -> None:
        self.name = name

    def visit(self, action) -> object:
        global _here, place
        # the call of action is two lines below
        _here = _here or traceback.extract_stack(limit=1)[-1]
        # (this comment counts)
        return action()


def marked() -> tuple:
    global place
    place = place or (_here[0], _here[1] + 2)
    return place


def owners() -> list[str]:
    frame = sys._getframe(1)
    found = []
    while frame is not None:
        owner = frame.f_locals.get("self", None)
        if isinstance(owner, Node) and "self" in frame.f_locals:
            found.append(owner.name)
        frame = frame.f_back
    return found


def came_from_there(error: Exception) -> list[bool]:
    frames = traceback.walk_tb(error.__traceback__)
    return [(frame.f_code.co_filename, line) == place for frame, line in frames]


# ==== pkg/train.py ====


class Root(Node):
    def visit(self, action) -> object:
        return Node("leaf").visit(action)


def fail() -> None:
    raise ValueError(Root("root").visit(owners))


def main() -> None:
    print(Root("root").visit(owners))
    marked()
    for run in (lambda: Root("root").visit(fail), fail):
        try:
            run()
        except ValueError as error:
            print(error, came_from_there(error))


if __name__ == "__main__":
    main()
