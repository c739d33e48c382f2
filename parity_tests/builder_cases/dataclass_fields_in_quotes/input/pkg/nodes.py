import dataclasses
import typing
from dataclasses import dataclass


class Node:
    """Another Node than that of leaves."""


@dataclass
class Tree:
    root: "Node"
    limit: "typing.ClassVar[Limit | None]" = None
    size: " int " = 0
    next: "typing.Optional[Tree]" = None
    in_parentheses: "(Limit | None)" = None
    optional: typing.Optional["Tree"] = None


class Limit:
    pass
