from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass
class Options:
    width: int = 1


def given(cls):
    return list(fields(cls))


def main():
    print([field.type for field in given(Options)])


if __name__ == "__main__":
    main()
