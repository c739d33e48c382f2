from ..other import x
from .missing import y
import pkg.absent


def main():
    print(x, y)


if __name__ == "__main__":
    main()
