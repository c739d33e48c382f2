from .b import h


def main():
    print(h(), list((1, 2)))


if __name__ == "__main__":
    main()
