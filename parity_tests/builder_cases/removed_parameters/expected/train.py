"""Built from pkg/train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
main(): Run.
Built by submission-parity: every knob is frozen to the values of config.yaml; manifest.json lists them.
"""


# ==== pkg/model.py ====


class Base:
    def __init__(self, extra: int = 0) -> None:
        self.width = 4 + extra


class Layer(Base):
    def __init__(
        self,
        name: str,
    ) -> None:
        super().__init__(extra=1)
        self.name = name
        self.more = self.helper(3)

    def helper(self, x: int) -> int:
        return x * 4

    @staticmethod
    def plain() -> float:
        return (-1.5) ** 2


class Child(Layer):
    pass


def positional(x: int) -> int:
    return 4 + x


def keyword(x: int) -> int:
    return 4 - x


def last(x: int = 1, *rest: int, **more: int) -> tuple[object, ...]:
    return x, rest, more, -1.5


def alone() -> float:
    return 2 - (-1.5)


# ==== pkg/train.py ====


def main() -> None:
    """Run."""

    def inner(x: int) -> int:
        return x + 4 + 4

    layer = Child("n")
    print(layer.width, layer.name, layer.more, layer.plain())
    print(positional(1), keyword(1), last(1, 2, z=3), alone(), inner(1))
    print(alone())


if __name__ == "__main__":
    main()
