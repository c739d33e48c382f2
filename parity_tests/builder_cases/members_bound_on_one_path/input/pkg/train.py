from .ops import Layer

width = 7


def main():
    print(Layer.seen, Layer.both, width)


if __name__ == "__main__":
    main()
