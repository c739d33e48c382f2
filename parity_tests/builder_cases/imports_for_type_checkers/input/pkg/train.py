from __future__ import annotations

from .a import work


def main() -> None:
    print(next(work(2)))


if __name__ == "__main__":
    main()
