"""Built from pkg/train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""


# ==== pkg/train.py ====

import math as train_Block


# ==== pkg/ops.py ====


class Block:
    pass


ops_Block = Block  # another `Block` is used too


# ==== pkg/train.py (continued) ====


class Block:
    width = train_Block.floor(2.5)


train_Block = Block  # another `Block` is used too


def main():
    print(train_Block.width, train_Block.__name__, ops_Block.__name__, ops_Block is train_Block)


if __name__ == "__main__":
    main()
