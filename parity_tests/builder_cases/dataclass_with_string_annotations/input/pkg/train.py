from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Point:
    x: int


def main():
    print(Point(1))


if __name__ == "__main__":
    main()
