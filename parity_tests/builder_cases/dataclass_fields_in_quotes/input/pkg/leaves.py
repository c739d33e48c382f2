import dataclasses


class Node:
    pass


@dataclasses.dataclass(order=True)
class Leaf:
    weight: "float" = 0.0
    owner: "Node | None" = None
    start: "dataclasses.InitVar[int]" = 1

    def __post_init__(self, start):
        self.weight += start
