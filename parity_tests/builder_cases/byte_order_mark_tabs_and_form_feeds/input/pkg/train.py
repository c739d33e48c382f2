from .old import norm


def main():
    print(norm(2))


if __name__ == "__main__":
    main()
