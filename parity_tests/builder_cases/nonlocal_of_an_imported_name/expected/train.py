"""Built from pkg/train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""


# ==== pkg/ops.py ====

count = 10


# ==== pkg/train.py ====


def counter():
    count_local = count

    def step():
        nonlocal count_local
        count_local += 1
        return count_local

    step()
    return step(), count_local


def main():
    print(counter(), count)


if __name__ == "__main__":
    main()
