"""Built from pkg/train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""


# ==== pkg/counter.py ====

count = 0
total = 10


def bump():
    global count
    count += 1
    return count


# ==== pkg/train.py ====

train_count = count
train_total = total
start = count

train_total = train_total + 1


def main():
    bump()
    now = count

    print(bump(), train_count, start, now, count, train_total, total)


if __name__ == "__main__":
    main()
