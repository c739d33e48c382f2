from .ops import *

try:
    LIMIT = LIMIT + int("y")
except ValueError as error:
    print(error.args[0])


def main():
    print(LIMIT)


if __name__ == "__main__":
    main()
