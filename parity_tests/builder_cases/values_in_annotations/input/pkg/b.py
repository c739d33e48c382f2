import typing
from typing import Annotated, Literal as Choice

LIMIT = 4


class Norm:
    pass


def norm(x: Choice["norm", "LIMIT"], y: "typing.Literal['norm', 'unknown'] | Norm" = None) -> "Norm":
    return x, LIMIT


def noted(x: Annotated["Norm", "LIMIT", LIMIT]) -> Annotated[int, "norm of unknown things"]:
    return x
