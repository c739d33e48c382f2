NAMES = []


class Field:
    def __set_name__(self, owner, name):
        NAMES.append(name)
