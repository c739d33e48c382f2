from .tools import Empty, Unused, used


def main():
    print(used())


if __name__ == "__main__":
    main()
