import os


def raw(name, default=None):
    value = os.environ.get(name)
    if value is not None:
        print("override", name)
    return default if value is None else value


def integer(name, default):
    return int(raw(name, default))


def rank():
    return integer("RANK", 0)


def main():
    print(integer("DEPTH", 4), integer("WIDTH", 8), rank())


if __name__ == "__main__":
    main()
