from .latin import word


def main():
    print(ascii(word()))


if __name__ == "__main__":
    main()
