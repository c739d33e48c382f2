from .ops import norm as n


class Layer:
    def norm(self, x):
        return n(x)

    def nested(self, x):
        def norm(y):
            return n(y) + 1

        return norm(x)

    inner = staticmethod(lambda norm: n(norm))


def outer(norm):
    return [n(norm) for norm in range(norm)], {norm: n(norm) for norm in (1,)}


def main():
    print(Layer().norm(1), Layer().nested(1), Layer.inner(2), outer(2))


if __name__ == "__main__":
    main()
