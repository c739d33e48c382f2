from dataclasses import dataclass, field


@dataclass(frozen=True)
class Point:
    x: int
    rest: list[int] = field(default_factory=list)


def main():
    print(Point(1).x, Point(1) == Point(1))


if __name__ == "__main__":
    main()
