import sys

if sys.maxsize < 0:
    from . import fast


def main():
    print(1)


if __name__ == "__main__":
    main()
