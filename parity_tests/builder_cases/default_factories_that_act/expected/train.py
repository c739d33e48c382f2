"""Built from pkg/train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""

from dataclasses import dataclass, field


# ==== pkg/state.py ====

COUNT = []


def fresh():
    COUNT.append(1)
    return []


@dataclass
class Run:
    losses: list = field(default_factory=fresh)


spare = Run()


# ==== pkg/train.py ====


def main():
    print(COUNT)


if __name__ == "__main__":
    main()
