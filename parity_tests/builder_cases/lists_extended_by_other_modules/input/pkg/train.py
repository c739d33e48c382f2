from .registry import KERNELS, NAMES

NAMES.append("train")
from .more import COUNT


def main():
    print(KERNELS, NAMES, COUNT)


if __name__ == "__main__":
    main()
