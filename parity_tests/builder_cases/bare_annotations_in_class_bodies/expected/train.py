"""Built from pkg/train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""


# ==== pkg/ops.py ====

ops_scale = 4


# ==== pkg/train.py ====


class Layer:
    norm: int
    scale: int
    width: int = ops_scale + ops_scale


def main():
    print(Layer.width, sorted(Layer.__annotations__))


if __name__ == "__main__":
    main()
