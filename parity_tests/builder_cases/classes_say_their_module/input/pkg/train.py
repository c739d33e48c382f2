"""The module of a value's class, asked for at run time."""

from .shapes import Colour, Documented, Named, Pair, Plain, Point, Told, describe, explain


class Own(Named):
    def name(self) -> str:
        return "own"


def main() -> None:
    for value in (Plain(), Documented(), Told(), Colour.RED, Point(), Pair(1), Point.Kind(), "text", 3):
        print(describe(value), explain(value))
    print(Told().name, [colour.name for colour in Colour], Pair(1), Point(2), Own().name(), type(Named).__module__)


if __name__ == "__main__":
    main()
