"""Names in annotations that are strings are looked up in the artifact's namespace: they mean the same there.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""

from __future__ import annotations

import typing


# ==== pkg/c.py ====


class Shape:
    mark = "c"


c_Shape = Shape  # another `Shape` is used too


# ==== pkg/a.py ====


def build(shape: c_Shape) -> c_Shape:
    return shape


# ==== pkg/b.py ====


class Shape:
    mark = "b"


# ==== pkg/train.py ====


def main():
    hints = typing.get_type_hints(build)
    print([hint.mark for hint in hints.values()], Shape.mark)


if __name__ == "__main__":
    main()
