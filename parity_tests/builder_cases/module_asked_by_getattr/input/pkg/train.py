"""A module asked by a string, known or not."""
from . import ops


def main():
    for name in ("norm", "scale"):
        print(getattr(ops, name)(2))
    print(getattr(ops, "norm")(2), hasattr(ops, "scale"))
    setattr(ops, "LIMIT", 3)


if __name__ == "__main__":
    main()
