"""Elements."""

from abc import ABC

LIMIT = 3


class Element(ABC):
    def __init__(self, name: str) -> None:
        self.name = name

    def copy(self) -> "Element":
        return type(self)(self.name)


class Word(Element):
    pass


def join(first: Element, second: Element) -> Element:
    return Word(f"{first.name} {second.name}")


second = Word("second")
first = Word("first")
second = second.copy()
_hidden = Word("hidden")
limit = max(LIMIT, 2)

# all elements so far
elements: list[Element] = [
    v for v in vars().values() if isinstance(v, Element)
]
late = Word("late")
