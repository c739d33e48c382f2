from . import layers
from .registry import SEEN, TABLE


def main():
    print(TABLE["double"](4), TABLE["Handler"]().run(1), len(SEEN), SEEN[0]())


if __name__ == "__main__":
    main()
