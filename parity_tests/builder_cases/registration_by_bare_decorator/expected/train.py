"""Built from pkg/train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""


# ==== pkg/registry.py ====

TABLE = {}
SEEN = []


def register(made):
    TABLE[made.__name__] = made
    return made


# ==== pkg/layers.py ====


@register
def double(x):
    return 2 * x


@register
class Handler:
    def run(self, x):
        return x + 1


@SEEN.append
def noted():
    return "noted"


# ==== pkg/train.py ====


def main():
    print(TABLE["double"](4), TABLE["Handler"]().run(1), len(SEEN), SEEN[0]())


if __name__ == "__main__":
    main()
