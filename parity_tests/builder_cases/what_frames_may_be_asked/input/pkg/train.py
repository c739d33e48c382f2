"""Frames asked for a local by its name, and for places in the code."""

from .places import Node, came_from_there, marked, owners


class Root(Node):
    def visit(self, action) -> object:
        return Node("leaf").visit(action)


def fail() -> None:
    raise ValueError(Root("root").visit(owners))


def main() -> None:
    print(Root("root").visit(owners))
    marked()
    for run in (lambda: Root("root").visit(fail), fail):
        try:
            run()
        except ValueError as error:
            print(error, came_from_there(error))


if __name__ == "__main__":
    main()
