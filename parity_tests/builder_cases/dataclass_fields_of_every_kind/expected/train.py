"""Built from pkg/train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""

import dataclasses
import dataclasses as dc
import inspect
import typing
import typing as t
from collections.abc import Callable
from dataclasses import KW_ONLY, InitVar, dataclass, field
from datetime import date
from typing import ClassVar, ClassVar as OnlyForCheckers, Generic, Literal, TypeVar


# ==== pkg/shapes.py ====

T = TypeVar("T")
Alias = dict[str, int]
frozen = dataclass(frozen=True)
Constant = ClassVar[int]


class Early:
    pass


class Box(Generic[T]):
    pass


@dataclass
class Every:
    width: int
    day: date | None  # a class outside
    names: list[str] | None
    table: Alias
    early: Early
    box: Box[Early]
    one_of: Literal["a", "b"]
    call: Callable[[int, str], None]
    late: "(Late)"
    itself: "(Every | None)"
    quoted: Early
    quoted_late: "(dict[str, Late])"
    count: ClassVar[int] = 0
    other: t.ClassVar["Late | None"] = None
    constant: Constant = 3
    start: InitVar[int] = 2
    stop: dc.InitVar["Late | None"] = None
    no_class_variable: "(OnlyForCheckers[int])" = 5
    date: "(date | None)" = None  # in the class body `date` is this field
    several: "(dict[ str, Late, ])" = field(default_factory=dict)
    _: KW_ONLY
    last: float = 1.0

    def __post_init__(self, start: "int", stop: "Late | None") -> "None":
        self.width += start


class Late:
    pass


@frozen
class Base:
    a: int = 1


@dc.dataclass(frozen=True, slots=True)
class Child(Base):
    b: int | None = None

    if True:
        c: float = 2.0


@dataclass(kw_only=True)
class Keywords:
    x: int
    y: t.Any = None


class Pair(t.NamedTuple):
    left: "int"
    right: "Late | None" = None


class Movie(t.TypedDict):
    name: "str"


@t.runtime_checkable
class Drawable(t.Protocol):
    size: "int"


def local():
    @dataclass
    class Inner:
        value: int
        owner: Late
        peer: "(Inner | None)" = None

    return Inner


# ==== pkg/train.py ====


def main():
    every = Every(1, None, ["x"], {}, Early(), Box(), "a", print, Late(), None, Early(), {}, 7, last=0.5)
    print([f.name for f in dataclasses.fields(every)], every.width, every.last, every.no_class_variable)
    print(list(inspect.signature(Every).parameters), Every.count, Every.constant)
    print(Child(5, 6), Child(), Base(2), hash(Child()) == hash(Child()), hasattr(Child(), "__dict__"))
    print(dataclasses.replace(Child(), b=3), dataclasses.asdict(Keywords(x=1)))
    print(Pair(1), Movie(name="n"), isinstance(every, Drawable))
    inner = local()(1, Late())
    print([f.name for f in dataclasses.fields(inner)], inner.value)
    print(typing.get_type_hints(Keywords), typing.get_type_hints(Child)["b"], inspect.signature(main))


if __name__ == "__main__":
    main()
