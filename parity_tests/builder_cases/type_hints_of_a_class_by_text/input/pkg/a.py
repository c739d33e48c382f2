from __future__ import annotations
import typing
from dataclasses import dataclass, fields


@dataclass
class Cfg:
    n: int = 3
    child: Child | None = None


@dataclass
class Child:
    x: list[int]


def hints():
    return {k: str(v) for k, v in typing.get_type_hints(Cfg).items()}
