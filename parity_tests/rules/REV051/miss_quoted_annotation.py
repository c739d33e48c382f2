from collections.abc import Iterator
from typing import Annotated, Any, NamedTuple


class Pair(NamedTuple):
    first: "Any"


def rows(pair: Pair) -> "Iterator[Annotated[int, 'a row, 1 to n']]":
    yield int(pair.first)
