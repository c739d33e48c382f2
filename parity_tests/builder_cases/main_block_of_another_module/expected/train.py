"""What another module does as the main program never runs, and keeps nothing, though it binds names of the module.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""


# ==== pkg/table.py ====

table = "module's"


def show():
    return table


# ==== pkg/train.py ====


def main():
    print(show())


if __name__ == "__main__":
    main()
