from .ops import norm


def main():
    print(nrom(1), norm(1))


if __name__ == "__main__":
    main()
