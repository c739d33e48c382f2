def factorial(n):
    if n < 2:
        return 1
    return n * factorial(n - 1)


def length(items):
    return 1 + length(items[1:]) if items else 0


def walk(node):
    yield node
    yield from walk(node.left)


class A:
    def norm(self, x):
        return norm(x)


def norm(x):
    for part in x:
        norm(part)
    return x


class Base:
    pass


class Model(Base):
    @classmethod
    def from_name(cls, name):
        return cls(Config.from_name(name))


class Config(Base):
    pass
