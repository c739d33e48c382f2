"""Built from pkg/train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""


# ==== pkg/latin.py ====

# café
def word():
    return "café"


# ==== pkg/train.py ====


def main():
    print(ascii(word()))


if __name__ == "__main__":
    main()
