"""Frames asked for what is another in one file."""

import sys
import traceback

size = 3


class Owner:
    frame = sys._getframe()


def ask(name: str) -> None:
    frame = sys._getframe(1)
    print(frame.f_locals.get("size"), frame.f_locals[name], list(frame.f_locals), "frame" in frame.f_locals)
    print((frame.f_code.co_filename, 3) == ("train.py", 3), frame.f_code.co_filename == frame.f_code.co_filename)


def place() -> tuple:
    return traceback.extract_stack()[-1][:2]


written = ("train.py", 3)


def same(frame) -> bool:
    return (frame.f_code.co_filename, frame.f_lineno) == written


here = traceback.extract_stack()[-1]
far = (here[0], here[1] + 20)


def far_from(frame) -> bool:
    return (frame.f_code.co_filename, frame.f_lineno) == far


def main() -> None:
    ask("size")
    print(same(sys._getframe()), far_from(sys._getframe()))


if __name__ == "__main__":
    main()
