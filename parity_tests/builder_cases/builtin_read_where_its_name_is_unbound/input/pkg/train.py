from .ops import top

max = 3


def main():
    print(top(1, 2), max)


if __name__ == "__main__":
    main()
