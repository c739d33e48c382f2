"""Prefixes, quotes, implicit joins and nested fields of strings, around names that change."""
from . import a, b


def main():
    print(a.text, b.text)


if __name__ == "__main__":
    main()
