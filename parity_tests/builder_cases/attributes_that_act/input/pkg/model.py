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


class Plain:
    depth = 1


anything = Open.anything
width = Block.width
listed = Listed[3]
depth = Plain.depth  # runs nothing
