from . import ops


def main():
    print(ops)


if __name__ == "__main__":
    main()
