from dataclasses import fields

from . import leaves, nodes


def main():
    tree = nodes.Tree(nodes.Node(), 4)
    print([f.name for f in fields(tree)], tree.size, tree.limit)
    print([f.name for f in fields(leaves.Leaf)], leaves.Leaf(1.5, None, 2), leaves.Leaf() < leaves.Leaf(3.0))
    print(type(leaves.Node()) is type(tree.root))


if __name__ == "__main__":
    main()
