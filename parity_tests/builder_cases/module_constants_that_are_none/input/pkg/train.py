WINDOW = 1024
WINDOW = WINDOW + 1


def main() -> None:
    print(WINDOW)


if __name__ == "__main__":
    main()
