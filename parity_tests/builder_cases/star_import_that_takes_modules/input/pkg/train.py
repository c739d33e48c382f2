from .ops.norm import norm
from .ops import *


def main():
    print(norm(LIMIT))


if __name__ == "__main__":
    main()
