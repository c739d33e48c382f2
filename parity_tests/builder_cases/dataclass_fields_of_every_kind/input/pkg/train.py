from __future__ import annotations

import dataclasses
import inspect
import typing

from . import shapes
from .shapes import Base, Box, Child, Early, Every, Keywords, Late, Movie, Pair, local


def main():
    every = Every(1, None, ["x"], {}, Early(), Box(), "a", print, Late(), None, Early(), {}, 7, last=0.5)
    print([f.name for f in dataclasses.fields(every)], every.width, every.last, every.no_class_variable)
    print(list(inspect.signature(Every).parameters), Every.count, Every.constant)
    print(Child(5, 6), Child(), Base(2), hash(Child()) == hash(Child()), hasattr(Child(), "__dict__"))
    print(dataclasses.replace(Child(), b=3), dataclasses.asdict(Keywords(x=1)))
    print(Pair(1), Movie(name="n"), isinstance(every, shapes.Drawable))
    inner = local()(1, Late())
    print([f.name for f in dataclasses.fields(inner)], inner.value)
    print(typing.get_type_hints(Keywords), typing.get_type_hints(Child)["b"], inspect.signature(main))


if __name__ == "__main__":
    main()
