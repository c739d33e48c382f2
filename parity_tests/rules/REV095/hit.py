def norm(x):  # expect
    return norm(x)


def a(x):  # expect
    y = b(x)
    return y + 1


def b(x):  # expect
    try:
        return a(x)
    except RecursionError:
        return x


class A:
    def run(self, x):  # expect
        return 2 * self.run(x)
