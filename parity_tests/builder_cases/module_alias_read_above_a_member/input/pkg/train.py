from . import ops


class Layer:
    @staticmethod
    def norm():
        return 0

    width = ops.norm(3)
    ops = width


def main():
    print(Layer.width, Layer.ops, Layer.norm(), ops.norm(1))


if __name__ == "__main__":
    main()
