from . import ops as norm
from .ops import scale


class Layer:
    norm: int
    scale: int
    width: int = norm.scale + scale


def main():
    print(Layer.width, sorted(Layer.__annotations__))


if __name__ == "__main__":
    main()
