from .a import f


def main():
    print(f)


if __name__ == "__main__":
    main()
