"""Docs."""

from __future__ import annotations

from pkg.shapes import show


def main() -> None:
    print(show(1), show.__annotations__)


if __name__ == "__main__":
    main()
