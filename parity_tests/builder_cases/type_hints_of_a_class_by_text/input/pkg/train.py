from .a import hints, Cfg


def main():
    print(sorted(hints()), Cfg())


if __name__ == "__main__":
    main()
