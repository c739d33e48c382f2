class Block:
    pass
