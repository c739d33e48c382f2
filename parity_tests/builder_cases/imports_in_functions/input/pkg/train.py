from .early import go, only_import

START = go(1)


def main():
    import pkg.late as l

    print(START, go(2), only_import(), l.THREE)


if __name__ == "__main__":
    main()
