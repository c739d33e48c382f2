"""Built from pkg/train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""


# ==== pkg/a.py ====


class Block:
    def size(self):
        return 1


a_Block = Block  # another `Block` is used too


# ==== pkg/b.py ====


class Block(a_Block):
    extra = 10

    def size(self):
        return super().size() + super(Block, self).size() + __class__.extra

    def own(self):
        return [__class__ is Block for _ in range(1)]


# ==== pkg/train.py ====


def main():
    print(Block().size(), Block.__mro__[1] is a_Block, Block().own())


if __name__ == "__main__":
    main()
