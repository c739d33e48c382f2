"""What nothing reaches, and what is there for type checkers only, needs no package.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""


# ==== pkg/model.py ====


def build():
    return 1


# ==== pkg/train.py ====


def main():
    print(build())


if __name__ == "__main__":
    main()
