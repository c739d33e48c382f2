from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass
class Options:
    width: int = 1
    best: ClassVar[int] | None = None


@dataclass
class Others:
    depth: "two words" = 1


def main():
    print(Options(), Others())


if __name__ == "__main__":
    main()
