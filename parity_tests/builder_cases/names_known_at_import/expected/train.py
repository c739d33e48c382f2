"""Names read as a dictionary at import time, where what they say is known.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""

from abc import ABC


# ==== pkg/base.py ====
# Elements.

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
    v for v in (second, first, _hidden, limit) if isinstance(v, Element)
]
late = Word("late")


# ==== pkg/more.py ====
# Elements made of others.

pair: Element
pair, triple = join(first, second), join(join(first, second), late)
names = [v for v in (second, first, limit, late, pair, triple) if isinstance(v, Word)]


# ==== pkg/train.py ====

train_pair = pair

if False:
    train_pair = None
if True:
    alias = first
elif True:
    alias = second


def main() -> None:
    print([element.name for element in elements])
    print([element.name for element in names], train_pair.name, alias.name, _hidden.name)


if __name__ == "__main__":
    main()
