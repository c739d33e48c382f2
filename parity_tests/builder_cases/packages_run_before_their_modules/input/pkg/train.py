print("train")
from .sub.deep import name, top
import pkg.sub.other


def main():
    print(name, top, pkg.sub.other.name, pkg.VERSION)


if __name__ == "__main__":
    main()
