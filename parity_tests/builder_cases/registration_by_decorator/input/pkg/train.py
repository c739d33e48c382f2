from . import layers
from .registry import TABLE


def main():
    print(TABLE["double"](4))


if __name__ == "__main__":
    main()
