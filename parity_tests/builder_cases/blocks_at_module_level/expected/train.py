"""`try`, `with`, `for`, `while` and `del` at module level.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""

import contextlib


# ==== pkg/setup.py ====

try:
    outcome = 1 / 0
except ZeroDivisionError as error:
    outcome = str(error)
else:
    outcome = "fine"
finally:
    closed = True

with contextlib.nullcontext(4) as limit:
    limit += 1

total = 0
squares = []
for number in range(3):
    total += number
    squares.append(lambda: number)
squares = [square() for square in squares]

count = 3
while count:
    count -= 1
else:
    total += 100

temporary = total
total = temporary + 1
del temporary


# ==== pkg/train.py ====


def main():
    print(outcome, limit, total, squares, closed)


if __name__ == "__main__":
    main()
