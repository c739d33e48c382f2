import tomllib
from datetime import UTC
from enum import StrEnum


def main():
    try:
        print(tomllib.loads("a = 1"), UTC, StrEnum)
    except* ValueError:
        raise ExceptionGroup("none", []) from None


if __name__ == "__main__":
    main()
