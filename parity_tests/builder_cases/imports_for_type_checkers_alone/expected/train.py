"""Imports for type checkers alone stay what they are; a name of theirs that the machine lacks is never looked up.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_stubs import Self
    from typing_stubs import Shape as Form


# ==== pkg/a.py ====

def cached(function):
    return function


class Norm:
    def scaled(self, shape: "Form", never: "Never") -> "Self":
        return self


# ==== pkg/late.py ====


class Never:
    pass


# ==== pkg/a.py (continued) ====


@cached
def T(x: "Norm") -> "Norm":
    return x


A_T = T  # another `T` is used too


# ==== pkg/b.py ====
# Its annotations are evaluated; a.py's are not.


def T(x: int) -> int:
    return x


# ==== pkg/train.py ====


def main():
    print(A_T(Norm()).scaled(1, 2).__class__.__name__, Norm.scaled.__annotations__["return"], T.__annotations__)


if __name__ == "__main__":
    main()
