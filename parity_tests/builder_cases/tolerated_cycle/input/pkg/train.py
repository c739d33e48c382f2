from .a import even


def main():
    print(even(10))


if __name__ == "__main__":
    main()
