"""Built from pkg/train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""


# ==== pkg/fields.py ====

NAMES = []


class Field:
    def __set_name__(self, owner, name):
        NAMES.append(name)


# ==== pkg/model.py ====


class GPT:
    width = Field()
    depth = Field()


# ==== pkg/train.py ====


def main():
    print(NAMES)


if __name__ == "__main__":
    main()
