"""Built from train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
Built by submission-parity: every knob is frozen to the values; manifest.json lists them.
"""


# ==== train.py ====


def steps(n):
    unread = "never read, as in the source"
    width, height = 3, 4
    alias = other = 5

    total = 0
    for i in range(n):
        total += i
    return total, other


def nested():
    seen = 0

    def bump():
        nonlocal seen
        seen += 1
        return 1

    return bump()


def main():
    print(steps(4), nested())


if __name__ == "__main__":
    main()
