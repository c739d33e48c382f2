"""`__name` inside a class is `_Class__name`, whatever the class is called in the artifact.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""


# ==== pkg/a.py ====


class Block:
    __kind = "a"

    def __init__(self):
        self.__hidden = 1

    def count(self):
        return self.__kind, self.__hidden


a_Block = Block  # another `Block` is used too


# ==== pkg/b.py ====


class Block:
    __kind = "b"

    def __init__(self):
        self.__hidden = 2

    def __secret(self):
        return self.__hidden

    def count(self):
        return self.__kind, self.__secret()


# ==== pkg/train.py ====


def main():
    print(a_Block().count(), Block().count(), Block()._Block__hidden, sorted(vars(Block())))


if __name__ == "__main__":
    main()
