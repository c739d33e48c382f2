from .backends import Ours, at_import, found
import numpy


def main() -> None:
    value = Ours()
    value.given = "anything"
    print(found(value), at_import())


if __name__ == "__main__":
    main()
