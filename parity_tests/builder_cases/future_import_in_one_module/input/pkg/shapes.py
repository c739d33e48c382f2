from __future__ import annotations


class Node:
    def join(self, other: Node, count: int = 1) -> Node:
        return other
