"""Built from pkg/train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""


# ==== pkg/model.py ====


class Block:
    def __repr__(self):
        return "a block"


model_Block = Block  # for where another `Block` hides it


def norm(x):
    return x / 2


model_norm = norm  # for where another `norm` hides it


MODEL_LIMIT = 3


# ==== pkg/train.py ====


def build():
    Block = model_Block()
    return Block


def apply(x, norm):
    return norm + model_norm(x)


def count(LIMIT=5):
    return [LIMIT for LIMIT in range(MODEL_LIMIT)], MODEL_LIMIT, LIMIT


class Holder:
    norm = 7

    def value(self, Block=1):
        return model_Block(), norm(self.norm), Block


def main():
    print(build(), apply(4, norm=3), count(), Holder().value())


if __name__ == "__main__":
    main()
