class Block:
    def size(self):
        return 1
