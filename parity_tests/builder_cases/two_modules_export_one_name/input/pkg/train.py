from .a import *
from .b import *
from . import a


def main():
    print(norm(1), a.norm(1), SCALE, a.SCALE)


if __name__ == "__main__":
    main()
