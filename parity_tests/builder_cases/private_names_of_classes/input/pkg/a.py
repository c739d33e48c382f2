class Block:
    __kind = "a"

    def __init__(self):
        self.__hidden = 1

    def count(self):
        return self.__kind, self.__hidden
