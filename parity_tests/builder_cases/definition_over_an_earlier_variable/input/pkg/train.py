import math as Block
from . import ops


class Block:
    width = Block.floor(2.5)


def main():
    print(Block.width, Block.__name__, ops.Block.__name__, ops.Block is Block)


if __name__ == "__main__":
    main()
