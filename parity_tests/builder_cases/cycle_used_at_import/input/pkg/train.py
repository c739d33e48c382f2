from .a import TWO


def main():
    print(TWO)


if __name__ == "__main__":
    main()
