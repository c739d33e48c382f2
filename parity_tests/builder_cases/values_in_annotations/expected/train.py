"""Built from pkg/train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""

import typing
from typing import Annotated, Literal as Choice


# ==== pkg/a.py ====


def a_norm(x):
    return x + 1


LIMIT = 3


# ==== pkg/b.py ====

B_LIMIT = 4


class Norm:
    pass


b_Norm = Norm  # another `Norm` is used too


def norm(x: Choice["norm", "LIMIT"], y: "typing.Literal['norm', 'unknown'] | b_Norm" = None) -> "b_Norm":
    return x, B_LIMIT


def noted(x: Annotated["b_Norm", "LIMIT", B_LIMIT]) -> Annotated[int, "norm of unknown things"]:
    return x


# ==== pkg/train.py ====


class Norm:
    """Another."""


def main():
    print(a_norm(1), norm("norm"), norm.__annotations__["x"], noted.__annotations__["return"])
    print(LIMIT, B_LIMIT, noted(1), noted.__annotations__["x"].__metadata__, Norm.__doc__)


if __name__ == "__main__":
    main()
