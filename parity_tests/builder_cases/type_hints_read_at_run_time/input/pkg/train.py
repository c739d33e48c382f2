"""Names in annotations that are strings are looked up in the artifact's namespace: they mean the same there."""
import typing

from .a import build
from .b import Shape


def main():
    hints = typing.get_type_hints(build)
    print([hint.mark for hint in hints.values()], Shape.mark)


if __name__ == "__main__":
    main()
