"""Which objects a call went through, and whether an error came from one place."""

import sys
import traceback

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
