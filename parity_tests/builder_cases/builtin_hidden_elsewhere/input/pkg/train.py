from . import a


def main():
    print(max(1, 2), a.max(3), a.use())


if __name__ == "__main__":
    main()
