from __future__ import annotations

import dataclasses
import inspect


@dataclasses.dataclass
class Options:
    width: int = 1


def names(cls):
    return list(inspect.signature(cls).parameters), [f.name for f in dataclasses.fields(cls)]


def main():
    print(names(Options), inspect.signature(main))
    print(Options.__doc__)
    print(inspect.signature(Options))
    print(dataclasses.fields(Options))
    print(list(map(repr, Options.__dataclass_fields__.values())))


if __name__ == "__main__":
    main()
