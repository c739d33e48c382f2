"""What walks through an iterator changes it, whether its result is used or not.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""


# ==== pkg/data.py ====

batches = iter(range(10))
first = next(batches)
head = list(zip(batches, "ab"))
total = sum(batch for batch in batches if batch < 0)
lines = (line for line in ("a", "b"))
one, *others = lines
names = "".join(lines)
rest = [*batches], list(lines)


# ==== pkg/train.py ====


def main():
    print(rest)


if __name__ == "__main__":
    main()
