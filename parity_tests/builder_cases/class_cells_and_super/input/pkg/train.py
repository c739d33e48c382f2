from . import a, b


def main():
    print(b.Block().size(), b.Block.__mro__[1] is a.Block, b.Block().own())


if __name__ == "__main__":
    main()
