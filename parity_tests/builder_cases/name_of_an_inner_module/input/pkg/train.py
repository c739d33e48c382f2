from .data import show


def main():
    print(show())


if __name__ == "__main__":
    main()
