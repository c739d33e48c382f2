from __future__ import annotations

import inspect
from dataclasses import dataclass, fields


@dataclass
class Options:
    width: int = 1
    name: str = ""


def parse(cls, texts):
    return cls(**{f.name: f.type(texts[f.name]) for f in fields(cls) if f.name in texts})


def names(cls):
    return [f.name for f in fields(cls)]


def kinds(cls):
    return inspect.get_annotations(cls), cls.__annotations__, getattr(cls, "__annotations__")


def main():
    print(parse(Options, {"width": "3"}), names(Options), kinds(Options))


if __name__ == "__main__":
    main()
