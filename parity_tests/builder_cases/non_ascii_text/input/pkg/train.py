from .text import MARK, größe


def main():
    print(ascii(MARK), ascii(größe))


if __name__ == "__main__":
    main()
