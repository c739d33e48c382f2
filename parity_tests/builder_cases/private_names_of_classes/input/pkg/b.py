class Block:
    __kind = "b"

    def __init__(self):
        self.__hidden = 2

    def __secret(self):
        return self.__hidden

    def count(self):
        return self.__kind, self.__secret()
