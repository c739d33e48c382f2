x = 0.5


class Point:
    __slots__ = ("x", "y")
    __match_args__ = ("x", "y")

    def __init__(self, x, y):
        self.x, self.y = x, y

    def __eq__(self, other):
        match other:
            case Point(x, y):
                return (x, y) == (self.x, self.y)
        return NotImplemented

    def __hash__(self):
        return hash((self.x, self.y))

    def __len__(self):
        return 2

    def __getitem__(self, index):
        return (self.x, self.y)[index]

    def __repr__(self):
        return f"{type(self).__name__}({self.x}, {self.y})"


def norm(point):
    return (point.x**2 + point.y**2) ** x
