"""Reading an attribute or an item runs code of metaclasses, descriptors, properties and `__class_getitem__`.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""


# ==== pkg/model.py ====

SEEN = []


class Meta(type):
    def __getattr__(cls, name):
        SEEN.append(name)
        return None


class Open(metaclass=Meta):
    pass


class Field:
    def __get__(self, instance, owner):
        SEEN.append("field")
        return 1


class Block:
    width = Field()


class Listed:
    def __class_getitem__(cls, item):
        SEEN.append(item)
        return cls


anything = Open.anything
width = Block.width
listed = Listed[3]


# ==== pkg/train.py ====


def main():
    print(SEEN)


if __name__ == "__main__":
    main()
