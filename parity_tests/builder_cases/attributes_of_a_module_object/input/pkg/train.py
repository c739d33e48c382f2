from . import ops


def main():
    print(ops.__name__, ops.__file__, ops.__doc__, ops.__dict__["norm"])


if __name__ == "__main__":
    main()
