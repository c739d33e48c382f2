from .data import ABOUT, HERE, NAME


def main():
    print(HERE, NAME, ABOUT)


if __name__ == "__main__":
    main()
