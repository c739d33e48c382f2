import os

DEPTH = int(os.environ.get("FF_DEPTH", 4))


def main():
    print(DEPTH)


if __name__ == "__main__":
    main()
