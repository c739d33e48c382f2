from .shapes import area, name, scale


def main():
    print(area(2), name, scale(3))


if __name__ == "__main__":
    main()
