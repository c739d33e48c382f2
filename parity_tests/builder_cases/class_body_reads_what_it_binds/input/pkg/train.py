from .a import norm
from .b import norm as other


class Layer:
    norm = norm(1)


def main():
    print(Layer.norm, other(1))


if __name__ == "__main__":
    main()
