import sys

SQUARE = len(sys.path) >= 0

if SQUARE:

    def area(side):
        return side * side

    name = "square"
else:

    def area(side):
        return 3 * side * side

    name = "circle"

for kind in ("first", "second"):

    def scale(x, kind=kind):
        return kind, x
