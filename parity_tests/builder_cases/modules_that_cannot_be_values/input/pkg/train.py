"""Modules whose names may become others, or are not known."""

from . import assigned, conditional, rebound, starred


def change(module) -> None:
    module.level = 2


def main() -> None:
    for module in (assigned, conditional, rebound, starred):
        print(module.__name__)
    change(assigned)


if __name__ == "__main__":
    main()
