"""Random numbers drawn at import: every draw stays, in its place.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""

import random


# ==== pkg/first.py ====

random.seed(1)
value = random.random()
unused = random.random()


# ==== pkg/train.py ====

random.seed(2)


# ==== pkg/second.py ====

shuffled = [random.random() for _ in range(2)]
second_value = random.random()


# ==== pkg/train.py (continued) ====


def main():
    print(value, second_value, random.random())


if __name__ == "__main__":
    main()
