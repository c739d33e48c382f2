"""Built from pkg/train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""

import dataclasses
import typing
from dataclasses import dataclass, fields


# ==== pkg/leaves.py ====


class Node:
    pass


leaves_Node = Node  # another `Node` is used too


@dataclasses.dataclass(order=True)
class Leaf:
    weight: float = 0.0
    owner: leaves_Node | None = None
    start: dataclasses.InitVar[int] = 1

    def __post_init__(self, start):
        self.weight += start


# ==== pkg/nodes.py ====


class Node:
    """Another Node than that of leaves."""


@dataclass
class Tree:
    root: Node
    limit: typing.ClassVar["Limit | None"] = None
    size: int = 0
    next: "(typing.Optional[Tree])" = None
    in_parentheses: "(Limit | None)" = None
    optional: typing.Optional["Tree"] = None


class Limit:
    pass


# ==== pkg/train.py ====


def main():
    tree = Tree(Node(), 4)
    print([f.name for f in fields(tree)], tree.size, tree.limit)
    print([f.name for f in fields(Leaf)], Leaf(1.5, None, 2), Leaf() < Leaf(3.0))
    print(type(leaves_Node()) is type(tree.root))


if __name__ == "__main__":
    main()
