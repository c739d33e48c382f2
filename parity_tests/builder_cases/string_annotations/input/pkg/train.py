from .a import Norm as First
from . import b
from .b import Norm


def f(x: "Norm", y: "First | None" = None) -> "list[Norm]":
    z: "Norm" = x
    return [z]


def main():
    print(f(1), len(f.__annotations__), First is b.Norm)


if __name__ == "__main__":
    main()
