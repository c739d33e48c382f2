from . import a, b


class Norm:
    """Another."""


def main():
    print(a.norm(1), b.norm("norm"), b.norm.__annotations__["x"], b.noted.__annotations__["return"])
    print(a.LIMIT, b.LIMIT, b.noted(1), b.noted.__annotations__["x"].__metadata__, Norm.__doc__)


if __name__ == "__main__":
    main()
