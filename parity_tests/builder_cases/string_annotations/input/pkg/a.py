class Node:
    pass


class Norm:
    pass
