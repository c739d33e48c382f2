from .points import Point, norm


def main():
    point = Point(3, 4)
    x = norm(point)
    print(x, point, point == Point(3, 4), len(point), [*point], point[0], Point.__slots__)


if __name__ == "__main__":
    main()
