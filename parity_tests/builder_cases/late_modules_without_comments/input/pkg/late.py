print("late runs")


def norm(x: float) -> float:
    return -x


class Layer:
    limit = 7
