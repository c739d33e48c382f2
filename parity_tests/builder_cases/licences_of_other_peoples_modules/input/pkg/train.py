# Our own notes.

from .vendor.first import one
from .vendor.second import two
from .vendor.third import three
from .vendor.fourth import four


def main():
    print(one(), two(), three(), four())


if __name__ == "__main__":
    main()
