from .model import STATE, width


def main():
    STATE["width"] = 3
    print(width())


if __name__ == "__main__":
    main()
